"""Verbs that race: one winner, typed losers, and threads of one process."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from omnigraph.errors import AlreadyExists, GraphError
from omnigraph.runtime import faults
from omnigraph.runtime.clock import SYSTEM_CLOCK
from omnigraph.testing.kit import Add, add, ids_of, new_engine, open_engine
from omnigraph.testing.kit_between import Between, Interruption
from omnigraph.testing.processes import ProcessGroup, Script, step
from omnigraph.testing.verify import require_whole
from omnigraph.versioning.branches import create_branch, delete_branch, open_branches
from omnigraph.versioning.tags import create_tag
from omnigraph.writer.plan import PreparedWrite, WriteRequest, WriteSnapshot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from omnigraph.session.engine import Engine


@pytest.fixture(scope="module")
def crew() -> Iterator[ProcessGroup]:
    with ProcessGroup() as started:
        yield started


@pytest.fixture
def path(tmp_path: Path) -> Path:
    add(new_engine(tmp_path / "graph"), ["old"])
    return tmp_path / "graph"


def branch(engine: Engine, name: str) -> None:
    create_branch(engine.root, engine.heads, name, engine.resolver.resolve("main"))


@pytest.mark.parametrize(
    ("verb", "before", "loser"),
    [
        ("branch", (), {"branch.exists"}),
        ("unbranch", (step("branch", name="x"),), {"branch.missing", "branch.deleted"}),
        ("tag", (), {"tag.exists"}),
    ],
)
def test_of_many_that_create_or_delete_one_name_exactly_one_succeeds(
    verb: str, before: tuple[object, ...], loser: set[str], path: Path, crew: ProcessGroup
) -> None:
    engine = open_engine(path)
    for round_number in range(5):
        name = f"{verb}-{round_number}"
        if before:
            branch(engine, name)
        steps = (step("open"), step("wait"), step(verb, name=name))
        children = [crew.start(Script(str(path), steps)) for _ in range(3)]
        for child in children:
            child.go()
        endings = [child.join()[-1] for child in children]
        assert sum(outcome.is_done for outcome in endings) == 1, endings
        assert {outcome.code for outcome in endings if not outcome.is_done} <= loser
    require_whole(open_engine(path))


@pytest.mark.parametrize("first", ["branch", "tag"])
@pytest.mark.parametrize("point", ["branch.manifest_written", "branch.ref_written", "tag.written"])
def test_a_name_is_never_both_a_branch_and_a_tag(first: str, point: str, path: Path) -> None:
    """A target is the one or the other: at least one of two racing creations fails."""
    second = "tag" if first == "branch" else "branch"
    codes: list[str] = []

    def create(kind: str) -> None:
        made_by = open_engine(path)
        try:
            if kind == "branch":
                branch(made_by, "x")
            else:
                create_tag(made_by.root, "x", made_by.resolver.resolve("main"))
        except AlreadyExists as error:
            codes.append(error.code)

    def between() -> None:
        faults.clear()
        create(second)

    faults.arm(point, between)
    try:
        create(first)
    finally:
        faults.clear()
    engine = open_engine(path)
    tags = [tag.name for tag in engine.root.refs.tags()]
    made = [name for name in (*open_branches(engine.root, engine.heads), *tags) if name == "x"]
    # A creation that meets the other one may fail, and so may both.
    assert len(made) <= 1
    assert codes if point.startswith(first) else made
    create("branch")
    assert ("x" in open_branches(engine.root, engine.heads)) != ("x" in tags)
    require_whole(engine)


def test_a_tag_gives_way_to_a_branch_that_was_created_since_it_looked(path: Path) -> None:
    other = open_engine(path)
    late = Interruption("put_if_absent", lambda: branch(other, "x"), prefix="_refs/tags")
    engine = open_engine(path, wrap_objects=lambda objects: Between(objects, [late]))
    with pytest.raises(AlreadyExists) as failure:
        create_tag(engine.root, "x", engine.resolver.resolve("main"))
    assert failure.value.code == "branch.exists"
    assert list(engine.root.refs.tags()) == []
    assert open_branches(engine.root, engine.heads) == ["main", "x"]
    require_whole(open_engine(path))


def test_a_write_that_loses_against_the_deletion_of_its_branch_is_told(path: Path) -> None:
    other = open_engine(path)
    branch(other, "dev")
    late = Interruption(
        "put_if_absent", lambda: delete_branch(other.root, other.heads, "dev"), prefix="__manifest"
    )
    writer = open_engine(path, wrap_objects=lambda objects: Between(objects, [late]))
    with pytest.raises(GraphError) as told:
        add(writer, ["lost"], branch="dev")
    assert told.value.code == "branch.deleted"
    assert open_branches(other.root, other.heads) == ["main"]
    require_whole(open_engine(path))


def test_a_deletion_that_loses_against_a_write_deletes_what_was_written(path: Path) -> None:
    """The write was acknowledged before the branch went: both happened, in this order."""
    other = open_engine(path)
    branch(other, "dev")
    other.transactions.locks.enabled = False
    late = Interruption(
        "put_if_absent", lambda: add(other, ["x"], branch="dev"), prefix="__manifest"
    )
    deleter = open_engine(path, wrap_objects=lambda objects: Between(objects, [late]))
    delete_branch(deleter.root, deleter.heads, "dev")
    assert open_branches(other.root, other.heads) == ["main"]
    require_whole(open_engine(path))


def test_a_branch_of_a_branch_that_is_deleted_meanwhile_stands(path: Path) -> None:
    engine = open_engine(path)
    branch(engine, "dev")
    add(engine, ["side"], branch="dev")
    source = engine.resolver.resolve("dev")
    delete_branch(engine.root, engine.heads, "dev")
    create_branch(engine.root, engine.heads, "child", source)
    assert ids_of(engine, "child") == ["old", "side"]
    require_whole(open_engine(path))


@pytest.mark.parametrize("guarded", [True, False])
def test_threads_of_one_process_write_without_losing_anything(guarded: bool, path: Path) -> None:
    """Eight threads, two branches, one engine: every acknowledged entity is there."""
    engine = open_engine(path)
    branch(engine, "dev")
    engine.transactions.locks.enabled = guarded
    engine.transactions.leases.enabled = guarded
    acknowledged: dict[str, list[str]] = {"main": ["old"], "dev": ["old"]}
    unexpected: list[Exception] = []

    def work(number: int) -> None:
        name = ("main", "dev")[number % 2]
        for turn in range(8):
            key = f"t{number}-{turn}"
            try:
                add(engine, [key], branch=name)
                acknowledged[name].append(key)
            except GraphError as error:
                if guarded:
                    unexpected.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert unexpected == []
    for name, keys in acknowledged.items():
        assert ids_of(open_engine(path), name) == sorted(keys)
    require_whole(open_engine(path))


class Slow(Add):
    """Takes several times as long to prepare as a quick writer takes to commit."""

    rounds = 0

    def prepare(self, view: WriteSnapshot) -> PreparedWrite | None:
        self.rounds += 1
        SYSTEM_CLOCK.sleep(0.1)
        return super().prepare(view)


def test_a_writer_that_never_pauses_does_not_starve_a_slow_one(
    path: Path, crew: ProcessGroup
) -> None:
    """The last round of a retried write holds the lease from its capture on."""
    steps = [step("open"), step("wait")]
    steps += [step("add", ids={"Person": [f"quick-{turn}"]}) for turn in range(300)]
    quick = crew.start(Script(str(path), tuple(steps)))
    engine = open_engine(path)
    quick.go()
    for _ in range(5):
        quick.next()
    slow = Slow({"Person": ["slow"]})
    engine.transactions.run(WriteRequest("main"), slow)
    assert slow.rounds > 1, "it was overtaken"
    assert quick.is_alive(), "and got through all the same"
    quick.kill()
    assert "slow" in ids_of(open_engine(path))
    require_whole(open_engine(path))
