"""Storage errors on every request for a small object, before it happens and after (a lost reply).

Guards INV-13. Each has the outcome that the protocol defines: a failed intent aborts the write, a
failed removal is a warning, a failed listing is loud, and whatever is said afterwards is true.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from omnigraph.adapters.objects.keys import TEMPORARY
from omnigraph.api.commits import WriterKind
from omnigraph.api.status import RecoveryOutcome
from omnigraph.errors import GraphError, OutcomeUnknown, StorageFault
from omnigraph.testing.faulty import Fault, FaultyObjects, ObjectVerb, When
from omnigraph.testing.kit import add, history, ids_of, new_engine, open_engine
from omnigraph.testing.processes import ProcessGroup, Script, step
from omnigraph.testing.verify import require_whole
from omnigraph.versioning import layout
from omnigraph.versioning.branches import create_branch, delete_branch, open_branches
from omnigraph.versioning.tags import create_tag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from omnigraph.ports.objects import ObjectStore
    from omnigraph.session.engine import Engine


@pytest.fixture
def path(tmp_path: Path) -> Path:
    engine = new_engine(tmp_path / "graph")
    add(engine, ["old"])
    create_branch(engine.root, engine.heads, "dev", engine.resolver.resolve("main"))
    return tmp_path / "graph"


@pytest.fixture(scope="module")
def crew() -> Iterator[ProcessGroup]:
    with ProcessGroup() as started:
        yield started


def faulty_engine(path: Path) -> tuple[Engine, FaultyObjects]:
    """Open without faults; they are added when everything stands."""
    made: list[FaultyObjects] = []

    def wrap(objects: ObjectStore) -> ObjectStore:
        made.append(FaultyObjects(objects))
        return made[0]

    engine = open_engine(path, wrap_objects=wrap)
    engine.transactions.leases.enabled = False
    return engine, made[0]


# --- the named outcomes --------------------------------------------------------------------------


@pytest.mark.parametrize("when", When)
def test_an_intent_that_cannot_be_put_aborts_the_write(when: When, path: Path) -> None:
    engine, objects = faulty_engine(path)
    objects.add(Fault(ObjectVerb.PUT, 1, when, layout.RECOVERY))
    with pytest.raises(StorageFault):
        add(engine, ["lost"])
    assert objects.hits
    assert ids_of(engine) == ["old"]
    assert engine.recovery.intents.pending() == {}
    add(engine, ["new"])
    assert ids_of(open_engine(path)) == ["new", "old"]
    require_whole(open_engine(path))


@pytest.mark.parametrize("when", When)
def test_an_intent_that_cannot_be_removed_is_a_warning(
    when: When, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    engine, objects = faulty_engine(path)
    objects.add(Fault(ObjectVerb.DELETE, 1, when, layout.RECOVERY))
    commit = add(engine, ["new"])
    assert commit in caplog.text
    engine = open_engine(path)
    assert ids_of(engine) == ["new", "old"]
    assert [entry.id for entry in history(engine)].count(commit) == 1
    assert engine.recovery.intents.pending() == {}
    require_whole(engine)


def test_a_listing_that_fails_stops_a_write_and_an_open_loudly(path: Path) -> None:
    engine, objects = faulty_engine(path)
    objects.add(Fault(ObjectVerb.LIST, 1, When.BEFORE, layout.RECOVERY))
    with pytest.raises(StorageFault):
        add(engine, ["lost"])
    assert ids_of(engine) == ["old"], "reading needs no listing of intents"
    broken = Fault(ObjectVerb.LIST, 1, When.BEFORE, layout.RECOVERY, lasting=True)
    with pytest.raises(StorageFault):
        open_engine(path, wrap_objects=lambda inner: FaultyObjects(inner, broken))
    reader = open_engine(
        path, read_only=True, wrap_objects=lambda inner: FaultyObjects(inner, broken)
    )
    assert ids_of(reader) == ["old"]


def test_a_lease_that_cannot_be_had_stops_nobody(path: Path) -> None:
    engine, objects = faulty_engine(path)
    engine.transactions.leases.enabled = True
    for verb in (ObjectVerb.PUT, ObjectVerb.GET, ObjectVerb.DELETE):
        objects.add(Fault(verb, 1, When.BEFORE, layout.write_lease("main"), lasting=True))
    add(engine, ["new"])
    assert ids_of(engine) == ["new", "old"]


def test_a_stamp_that_cannot_be_read_before_the_swap_is_a_definite_failure(path: Path) -> None:
    """The tables are committed, and the operation is voided without the branch."""
    engine, objects = faulty_engine(path)
    objects.add(Fault(ObjectVerb.GET, 1, When.BEFORE, layout.STAMP, lasting=True))
    with pytest.raises(StorageFault):
        add(engine, ["lost"])
    objects.clear()
    assert engine.recovery.intents.pending() == {}
    assert engine.recovery.sweep() == []
    assert ids_of(engine) == ["old"]
    require_whole(engine)


@pytest.mark.parametrize("when", When)
def test_what_can_be_neither_published_nor_voided_is_decided_by_recovery(
    when: When, path: Path
) -> None:
    engine, objects = faulty_engine(path)
    objects.add(Fault(ObjectVerb.GET, 1, When.BEFORE, layout.STAMP, lasting=True))
    objects.add(Fault(ObjectVerb.PUT, 2, when, layout.RECOVERY, lasting=True))
    with pytest.raises(OutcomeUnknown) as caught:
        add(engine, ["perhaps"])
    objects.clear()
    (row,) = engine.recovery.sweep()
    assert row.operation_id == caught.value.details["commit_id"]
    rolled_forward = row.outcome is RecoveryOutcome.ROLLED_FORWARD
    assert rolled_forward == (when is When.BEFORE), "the confirmation that it is void was put"
    assert ids_of(engine) == (["old", "perhaps"] if rolled_forward else ["old"])
    require_whole(engine)


# --- every request of every verb -----------------------------------------------------------------


def write(engine: Engine) -> None:
    add(engine, ["new"])


def branch(engine: Engine) -> None:
    create_branch(engine.root, engine.heads, "feature", engine.resolver.resolve("main"))


def unbranch(engine: Engine) -> None:
    delete_branch(engine.root, engine.heads, "dev")


def tag(engine: Engine) -> None:
    create_tag(engine.root, "v1", engine.resolver.resolve("main"))


def sweep(engine: Engine) -> None:
    engine.recovery.sweep()


ACTS: dict[str, Callable[[Engine], None]] = {
    "write": write,
    "branch": branch,
    "unbranch": unbranch,
    "tag": tag,
    "sweep": sweep,
}


def is_done(engine: Engine, act: str) -> bool:
    match act:
        case "write":
            return "new" in ids_of(engine)
        case "branch":
            return "feature" in open_branches(engine.root, engine.heads)
        case "unbranch":
            return "dev" not in open_branches(engine.root, engine.heads)
        case "tag":
            return engine.root.refs.tag("v1") is not None
        case _:
            return True


@pytest.mark.parametrize("when", When)
@pytest.mark.parametrize("act", ACTS)
def test_any_request_of_any_verb_may_fail(
    act: str, when: When, path: Path, tmp_path: Path, crew: ProcessGroup
) -> None:
    if act == "sweep":
        steps = (step("open"), step("arm"), step("add", ids={"Person": ["left"]}))
        crew.run(Script(str(path), steps, "attempt.tables_committed=kill"))
    problems = []
    for verb in ObjectVerb:
        for nth in range(1, 40):
            copy = tmp_path / f"{verb}-{nth}"
            shutil.copytree(path, copy)
            outcome = fail_request(copy, act, Fault(verb, nth, when))
            if outcome == "not reached":
                break
            problems += [f"{verb} {nth} {when}: {problem}" for problem in check(copy, act, outcome)]
            shutil.rmtree(copy)
    assert not problems, "\n".join(problems)


def fail_request(path: Path, act: str, fault: Fault) -> str:
    objects: list[FaultyObjects] = []

    def wrap(inner: ObjectStore) -> ObjectStore:
        objects.append(FaultyObjects(inner))
        return objects[0]

    engine = open_engine(path, wrap_objects=wrap, read_only=act == "sweep")
    engine.root.read_only = False
    objects[0].add(fault)
    try:
        ACTS[act](engine)
        ending = "done"
    except OutcomeUnknown:
        ending = "unknown"
    except GraphError as error:
        ending = f"failed: {error.code}"
    return ending if objects[0].hits else "not reached"


def check(path: Path, act: str, outcome: str) -> list[str]:
    engine = open_engine(path)
    problems = []
    done = is_done(engine, act)
    if outcome == "done" and not done:
        problems.append("acknowledged and not there")
    # A ref whose put was not answered may stand; a commit that is said to have failed may not.
    if act == "write" and outcome.startswith("failed") and done:
        problems.append(f"{outcome}, and there")
    if act == "sweep" and "left" not in ids_of(engine):
        problems.append("the confirmed operation was not rolled forward")
    try:
        add(engine, ["again"])
        require_whole(open_engine(path))
    except (AssertionError, GraphError) as error:
        problems.append(str(error))
    return problems


def test_a_failed_write_leaves_no_recovery_commit_unless_it_had_confirmed(path: Path) -> None:
    engine, objects = faulty_engine(path)
    objects.add(Fault(ObjectVerb.PUT, 1, When.BEFORE, layout.RECOVERY))
    with pytest.raises(StorageFault):
        add(engine, ["lost"])
    assert WriterKind.RECOVERY not in {commit.kind for commit in history(engine)}


def test_a_read_write_open_removes_what_killed_writers_left_unfinished(tmp_path: Path) -> None:
    engine = new_engine(tmp_path / "graph")
    add(engine, ["old"])
    folder = tmp_path / "graph" / layout.RECOVERY
    folder.mkdir(exist_ok=True)
    old, young = folder / f"{TEMPORARY}old", folder / f"{TEMPORARY}young"
    for file in (old, young):
        file.write_bytes(b"{")
    os.utime(old, (1_000, 1_000))
    open_engine(tmp_path / "graph", read_only=True)
    assert old.exists(), "a read-only open writes nothing"
    open_engine(tmp_path / "graph")
    assert not old.exists()
    assert young.exists(), "its writer may live"


def test_unfinished_writes_are_removed_wherever_small_objects_lie(tmp_path: Path) -> None:
    """Every directory that is not part of a Lance table holds small objects."""
    root = tmp_path / "graph"
    engine = new_engine(root)
    create_branch(engine.root, engine.heads, "dev", engine.resolver.resolve("main"))
    create_tag(engine.root, "v1", engine.resolver.resolve("main"))
    steps = (step("open"), step("add", ids={"Person": ["dead"]}))
    with ProcessGroup() as crew:
        assert crew.start(Script(str(root), steps, "attempt.tables_committed=kill")).join()
    add(open_engine(root), ["later"])
    tables = {file.parents[1] for file in root.glob("**/*.manifest")}
    places = [root, *(place for place in root.rglob("*") if place.is_dir())]
    small = [place for place in places if not tables & {place, *place.parents}]
    small = [place for place in small if any(file.is_file() for file in place.iterdir())]
    unfinished = [place / f"{TEMPORARY}left" for place in small]
    for file in unfinished:
        file.write_bytes(b"{")
        os.utime(file, (1_000, 1_000))
    open_engine(root)
    assert [file for file in unfinished if file.exists()] == []
    assert len(small) > 5
