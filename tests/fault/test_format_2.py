"""A graph that the last build of format 2 wrote is migrated whole, whoever interrupts it."""

from __future__ import annotations

import json
import shutil
import tarfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.adapters.lance import LanceTables
from omnigraph.adapters.lance.earlier_formats import EarlierLanceTables
from omnigraph.adapters.objects import open_objects
from omnigraph.api.status import RecoveryOutcome
from omnigraph.errors import GraphError, StorageFault
from omnigraph.graph.open import clone_graph, open_graph
from omnigraph.runtime import faults
from omnigraph.runtime.clock import SystemClock
from omnigraph.session.engine import Engine
from omnigraph.testing.kit import FAST, add, history, ids_of, open_engine
from omnigraph.testing.kit_between import Between, Interruption, lose_reply
from omnigraph.testing.verify import check_graph
from omnigraph.versioning import layout
from omnigraph.versioning.branches import create_branch, delete_branch, list_branches
from omnigraph.versioning.migrations import migrate, upgraded_view
from omnigraph.versioning.root import GraphRoot
from omnigraph.versioning.stamp import FORMAT, read_stamp

if TYPE_CHECKING:
    from collections.abc import Iterator

HOME = Path(__file__).parents[1] / "fixtures" / "format_2"
# The graph was written without a cascade.
DANGLING = ["branch Twig: Knows ends at no Person: {'bob'}"]
EXPECTED: dict[str, Any] = json.loads((HOME / "expected.json").read_text())


class ThatDay(SystemClock):
    """The clock of the day on which the graph was written: its intents expire after days."""

    def __init__(self) -> None:
        self._behind = SystemClock().now_micros() - EXPECTED["made_at_micros"]

    def now_micros(self) -> int:
        return int(super().now_micros() - self._behind)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with tarfile.open(HOME / "graph.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "graph"


@pytest.fixture(autouse=True)
def _no_faults() -> Iterator[None]:
    yield
    faults.clear()


def open_then(path: Path, *, read_only: bool = False) -> Engine:
    """Open the graph on the day on which it was written."""
    objects, stamp = open_objects(str(path)), read_stamp(open_objects(str(path)))
    earlier = EarlierLanceTables(str(path))
    if not read_only:
        stamp = migrate(objects, stamp, lambda: earlier)
    root = GraphRoot(
        upgraded_view(objects, stamp, lambda: earlier) if read_only else objects,
        LanceTables(str(path)),
        stamp,
        read_only=read_only,
        clock=ThatDay(),
        limits=FAST,
    )
    return Engine(root)


def contents(engine: Engine, target: str) -> dict[str, Any]:
    commits = [
        [commit.id, commit.kind.value, commit.time_micros, commit.message]
        for commit in history(engine, target)
    ]
    types = engine.snapshot(target).catalog.types.values()
    return {
        "commits": commits,
        "ids": {each.name: ids_of(engine, target, of=each.name) for each in types},
    }


def require_all(engine: Engine) -> None:
    """Everything that the build of format 2 showed."""
    for kind in ("branches", "tags"):
        for name, expected in EXPECTED[kind].items():
            assert contents(engine, name) == expected, name
    branches = list_branches(engine.root, engine.heads)
    assert [info.ref.name for info in branches] == sorted(EXPECTED["branches"])
    assert not branches.damaged
    audited = [[row.operation_id, row.outcome.value] for row in engine.recovery.audit.rows()]
    assert audited == EXPECTED["audit"]
    assert sorted(intent.id for intent in engine.recovery.pending()) == EXPECTED["pending"]
    for name, versions in EXPECTED["dataset_versions"].items():
        pins = engine.resolver.resolve(name).pins
        assert {key: pin.counter for key, pin in pins.items()} == versions, name


def listing(path: Path) -> dict[str, tuple[int, int]]:
    return {
        str(entry.relative_to(path)): (entry.stat().st_mtime_ns, entry.stat().st_size)
        for entry in sorted(path.rglob("*"))
    }


def test_a_read_only_open_shows_everything_and_writes_nothing(path: Path) -> None:
    before = listing(path)
    require_all(open_then(path, read_only=True))
    with open_graph(path, read_only=True) as graph:
        assert graph.status().internal_schema_version == 2
        assert graph.status().damaged == ()
    assert listing(path) == before


def test_a_migration_keeps_everything_and_leaves_nothing_of_the_old_format(path: Path) -> None:
    engine = open_then(path)
    assert engine.root.stamp.internal_schema_version == FORMAT
    require_all(engine)
    left = [str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()]
    of_lance = [name for name in left if "_versions" in name]
    assert {name.split("/")[0] for name in of_lance} <= {"nodes", "edges", layout.LINEAGE_TABLE}
    assert not [name for name in left if name.startswith("_graph_commit_recoveries")]


def test_intents_of_the_old_format_are_resolved_behind_the_migration(path: Path) -> None:
    engine = open_then(path)
    engine.recovery.sweep()
    engine.root.clock.sleep(FAST.intent_term_seconds + 0.1)
    outcomes = {row.operation_id: row.outcome for row in engine.recovery.sweep()}
    assert set(outcomes) == set(EXPECTED["pending"])
    assert set(outcomes.values()) == {RecoveryOutcome.ROLLED_FORWARD, RecoveryOutcome.ROLLED_BACK}
    assert ids_of(engine, "dev/one", of="Place") == ["pending"]
    assert "lost" not in ids_of(engine, "gone")
    assert check_graph(engine) == DANGLING


def test_a_migrated_graph_goes_on(path: Path) -> None:
    engine = open_then(path)
    counted = dict(EXPECTED["dataset_versions"]["main"])
    add(engine, ["more"])
    pins = engine.resolver.resolve("main").pins
    person = engine.snapshot().catalog.node("Person")
    assert person is not None
    assert pins[person.id].counter == counted[person.id] + 1
    delete_branch(engine.root, engine.heads, "Twig")
    create_branch(engine.root, engine.heads, "Twig", engine.resolver.resolve("v1"))
    add(engine, ["more"], branch="Twig")
    for target, expected in EXPECTED["tags"].items():
        assert contents(engine, target) == expected
    assert [commit.id for commit in history(engine)][1:] == [
        commit for commit, *_ in EXPECTED["branches"]["main"]["commits"]
    ]


@pytest.mark.parametrize("point", ["migrate.worked", "migrate.stamped"])
def test_a_migration_that_is_interrupted_is_finished_by_the_next_open(
    point: str, path: Path
) -> None:
    faults.arm(point, "raise")
    with pytest.raises(faults.InjectedFault):
        open_then(path)
    faults.clear()
    require_all(open_then(path, read_only=True))
    require_all(open_then(path))


@pytest.mark.parametrize("when", [False, True])
def test_a_migration_can_fail_at_every_put_and_be_repeated(when: bool, path: Path) -> None:
    stamp = read_stamp(open_objects(str(path)))
    failed = 0
    for number in range(1, 100):
        copy = path.with_name(f"copy-{number}")
        shutil.copytree(path, copy)
        fault = Interruption("put_if_absent", lose_reply, nth=number, after=when)
        objects = Between(open_objects(str(copy)), [fault])
        with suppress(StorageFault):
            migrate(objects, stamp, lambda copy=copy: EarlierLanceTables(str(copy)))  # type: ignore[misc]
        if not fault.done:
            break
        failed += 1
        require_all(open_then(copy, read_only=True))
        require_all(open_then(copy))
    assert failed > 20


def test_the_branches_are_closed_to_a_writer_of_the_old_format(path: Path) -> None:
    """A writer that looked at the stamp before the migration must not publish after it."""
    tables = EarlierLanceTables(str(path))
    heads = {
        name: len(tables.versions(name))
        for name in (
            layout.manifest_path(ref.incarnation)
            for ref in open_then(path, read_only=True).root.refs.branches()
            if ref.open
        )
    }
    refused: list[bool] = []

    def publish_late() -> None:
        """An overwrite at the version that the writer holds for the head."""
        for name, version in heads.items():
            refused.append(not tables.close(name, version, tables.read(name, version)))

    faults.arm("migrate.worked", publish_late)
    require_all(open_then(path))
    assert refused == [True] * len(heads)


def test_a_commit_of_a_writer_that_is_faster_than_the_migration_is_kept(path: Path) -> None:
    main = open_then(path, read_only=True).resolver.resolve("main")
    name = layout.manifest_path(main.incarnation)
    tables = EarlierLanceTables(str(path))
    published: list[int] = []

    def publish() -> None:
        rows = tables.read(name, main.version)
        bodies = [json.loads(text) if text else None for text in rows["body"].to_pylist()]
        for body in filter(None, bodies):
            body["commit"]["parent"] = body["commit"]["ref"]
            body["commit"]["ref"] = {
                **body["commit"]["ref"],
                "id": "01M7R3G2027WVXD62DD964EJ60",
                "version": main.version + 1,
            }
            body["commit"]["time_micros"] += 1
        texts = [json.dumps(body) if body else "" for body in bodies]
        changed = rows.set_column(rows.column_names.index("body"), "body", [texts])
        published.append(tables.close(name, main.version, changed))

    slow = Between(EarlierLanceTables(str(path)), [Interruption("close", publish, prefix=name)])
    objects = open_objects(str(path))
    migrate(objects, read_stamp(objects), lambda: slow)
    assert published == [True]
    engine = open_then(path)
    assert engine.resolver.resolve("main").commit.id == "01M7R3G2027WVXD62DD964EJ60"
    assert contents(engine, "main")["commits"][1:] == EXPECTED["branches"]["main"]["commits"]


@pytest.mark.parametrize("how", ["tear", "remove"])
def test_damage_from_before_stays_damage_of_one_branch(how: str, path: Path) -> None:
    head = open_then(path, read_only=True).resolver.resolve("dev/one")
    versions = sorted(
        (path / layout.manifest_path(head.incarnation) / "_versions").glob("*.manifest")
    )
    # The newest version has the smallest name. A missing one that is not the newest leaves a gap.
    (versions[0].write_bytes(b"torn") if how == "tear" else versions[1].unlink())
    engine = open_then(path)
    for name in ("main", "gone", "Twig"):
        assert contents(engine, name) == EXPECTED["branches"][name]
    if how == "tear":
        with pytest.raises(StorageFault) as raised:
            engine.snapshot("dev/one")
        assert raised.value.code == "branch.damaged"
        assert "torn" in raised.value.message
        with pytest.raises(GraphError):
            add(engine, ["x"], branch="dev/one")
    else:
        assert ids_of(engine, "dev/one") == EXPECTED["branches"]["dev/one"]["ids"]["Person"]


def test_a_clone_of_an_old_graph_is_of_this_format(path: Path, tmp_path: Path) -> None:
    clone_graph(path, tmp_path / "copy")
    with open_graph(path, read_only=True) as graph:
        assert graph.status().internal_schema_version == 2
    engine = open_engine(tmp_path / "copy", read_only=True)
    assert engine.root.stamp.internal_schema_version == FORMAT
    for name, expected in EXPECTED["branches"].items():
        assert contents(engine, name) == expected


def test_of_two_migrations_at_once_both_end_well(path: Path) -> None:
    def overtake() -> None:
        faults.clear()
        require_all(open_then(path))

    faults.arm("migrate.worked", overtake)
    require_all(open_then(path))


def test_the_limits_of_the_test_do_not_matter(path: Path) -> None:
    """A real open, years later: intents have expired, and everything else stands."""
    with open_graph(path, limits=replace(FAST, intent_term_seconds=0.0)) as graph:
        assert sorted(info.ref.name for info in graph.branches.list()) == sorted(
            EXPECTED["branches"]
        )
    assert check_graph(open_engine(path)) == DANGLING
