"""A power cut keeps only what was synced. Guards INV-6.

The disk is simulated: after every acknowledged operation, and at every fault point of one, the test
builds what a reboot would find and opens it. With a seed that is a mixture of lost, kept and torn
files, as an honest disk may leave them.
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.api.merges import MergeRequest
from omnigraph.coordination import owner
from omnigraph.errors import GraphError
from omnigraph.graph.open import open_graph
from omnigraph.merging.merge import merge_branches
from omnigraph.runtime import faults
from omnigraph.testing.aging import age
from omnigraph.testing.kit import Add, add, history, ids_of, new_engine, open_engine, remove
from omnigraph.testing.kit_steps import WRITE_POINTS
from omnigraph.testing.power import PowerLossDisk
from omnigraph.testing.verify import check_graph, require_whole
from omnigraph.versioning import layout
from omnigraph.versioning.branches import create_branch, delete_branch, open_branches
from omnigraph.versioning.tags import create_tag
from omnigraph.writer.plan import WriteRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from omnigraph.session.engine import Engine

SEEDS = (None, 1)


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The simulated disk remembers what was synced; the real one need not bother."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    yield
    faults.clear()


@contextmanager
def a_disk(tmp_path: Path) -> Iterator[tuple[PowerLossDisk, Path]]:
    root = tmp_path / "disk"
    root.mkdir()
    with PowerLossDisk(root) as disk:
        yield disk, root / "graph"


def reboot(disk: PowerLossDisk, tmp_path: Path, seed: int | None) -> Path:
    """The graph as a reboot finds it."""
    target = tmp_path / f"after-{seed}"
    shutil.rmtree(target, ignore_errors=True)
    disk.cut_to(target, seed=seed)
    return target / "graph"


def branch(engine: Engine, name: str) -> None:
    create_branch(engine.root, engine.heads, name, engine.resolver.resolve("main"))


@pytest.fixture(autouse=True)
def _machine_restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is opened is opened after the restart of the machine that wrote it."""
    monkeypatch.setattr(owner.Owner, "shares_boot", lambda _: False)
    monkeypatch.setattr(owner, "booted_at_micros", lambda: 2**62)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_acknowledged_operation_is_lost_whenever_the_power_goes(
    seed: int | None, tmp_path: Path
) -> None:
    with a_disk(tmp_path) as (disk, path):
        engine = new_engine(path, durability="power")
        acts = (
            lambda: add(engine, ["a"]),
            lambda: add(engine, ["b"]),
            lambda: branch(engine, "dev"),
            lambda: add(engine, ["c"], branch="dev"),
            lambda: add(engine, ["d"]),
            lambda: engine.transactions.run(
                WriteRequest("main"), Add({"Person": ["e"], "Place": ["f"]})
            ),
            lambda: remove(engine, ["a"]),
            lambda: create_tag(engine.root, "v1", engine.resolver.resolve("main")),
            lambda: delete_branch(engine.root, engine.heads, "dev"),
        )
        for act in acts:
            act()
            after = open_engine(reboot(disk, tmp_path, seed))
            names = open_branches(engine.root, engine.heads)
            assert open_branches(after.root, after.heads) == names
            for name in names:
                for kind in ("Person", "Place"):
                    assert ids_of(after, name, of=kind) == ids_of(engine, name, of=kind)
                told = [commit.id for commit in history(after, name)]
                assert told == [commit.id for commit in history(engine, name)]
            add(after, ["after"])
            require_whole(after)
        rebooted = open_engine(reboot(disk, tmp_path, seed))
        assert rebooted.root.refs.tag("v1") is not None


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("point", WRITE_POINTS)
def test_power_that_goes_in_the_middle_of_a_write_leaves_all_of_it_or_nothing(
    point: str, seed: int | None, tmp_path: Path
) -> None:
    with a_disk(tmp_path) as (disk, path):
        engine = new_engine(path, durability="power")
        add(engine, ["old"])
        branch(engine, "dev")
        add(engine, ["side"], branch="dev")
        faults.arm(point, lambda: reboot(disk, tmp_path, seed))
        engine.transactions.run(WriteRequest("main"), Add({"Person": ["x"], "Place": ["y"]}))
        after = open_engine(tmp_path / f"after-{seed}" / "graph")
        people, places = ids_of(after), ids_of(after, of="Place")
        assert (people, places) in ((["old"], []), (["old", "x"], ["y"]))
        assert ids_of(after, "dev") == ["old", "side"]
        for name in ("main", "dev"):
            add(after, ["after"], branch=name)
        require_whole(after)


def dead_writer(path: Path) -> Engine:
    """A writer that dies behind each swap, before it can sync the name of the manifest."""
    engine = open_engine(path)
    objects: Any = engine.root.objects
    sync = objects._sync_directory

    def sync_others(name: str) -> None:
        if f"/{layout.MANIFESTS}/" not in name:
            sync(name)

    objects._sync_directory = sync_others
    return engine


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("to", ["Person", "Place"])
def test_who_builds_on_the_commit_of_a_dead_writer_syncs_it_first(
    to: str, seed: int | None, tmp_path: Path
) -> None:
    with a_disk(tmp_path) as (disk, path):
        engine = new_engine(path, durability="power")
        add(engine, ["old"])
        add(dead_writer(path), ["first"], to=to)
        add(engine, ["second"])
        after = open_engine(reboot(disk, tmp_path, seed))
        assert ids_of(after) == ids_of(engine)
        assert ids_of(after, of="Place") == ids_of(engine, of="Place")
        require_whole(after)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_branch_made_of_the_commit_of_a_dead_writer_is_durable(
    seed: int | None, tmp_path: Path
) -> None:
    with a_disk(tmp_path) as (disk, path):
        engine = new_engine(path, durability="power")
        add(dead_writer(path), ["first"])
        branch(engine, "dev")
        after = open_engine(reboot(disk, tmp_path, seed))
        assert ids_of(after, "dev") == ids_of(after) == ["first"]
        require_whole(after)


@pytest.mark.parametrize("name", ["tag", "merge"])
def test_a_commit_of_a_dead_writer_that_is_named_is_durable(name: str, tmp_path: Path) -> None:
    """Else the name would stand, and its branch would be damaged."""
    with a_disk(tmp_path) as (disk, path):
        engine = new_engine(path, durability="power")
        branch(engine, "dev")
        add(engine, ["apart"])
        add(dead_writer(path), ["first"], branch="dev")
        if name == "tag":
            create_tag(engine.root, "v1", engine.resolver.resolve("dev"))
        else:
            merge_branches(engine, MergeRequest("dev", "main"))
        after = open_engine(reboot(disk, tmp_path, None))
        assert ids_of(after, "dev") == ["first"]
        require_whole(after)


def test_the_process_level_may_lose_what_it_acknowledged(tmp_path: Path) -> None:
    """Which also shows that the simulation takes something away."""
    with a_disk(tmp_path) as (disk, path):
        engine = new_engine(path, durability="process")
        add(engine, ["lost"])
        try:
            survivors = ids_of(open_engine(reboot(disk, tmp_path, None)))
        except GraphError:
            survivors = []
        assert survivors == []


def test_what_the_process_level_loses_is_missing_or_an_error_and_never_something_else(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """Torn files of every kind: whoever opens or reads them gets a typed error, or the truth."""
    root = tmp_path / "disk"
    engine = new_engine(root / "graph", durability="process")
    add(engine, ["p0", "p1"])
    add(engine, ["q0"], to="Place")
    acknowledged = {"p0", "p1", "q0"}
    read = refused = 0
    # What exists by now counts as safe; the rest is kept, lost or torn, file by file.
    with PowerLossDisk(root) as disk:
        branch(engine, "dev")
        for number, name in enumerate(("main", "dev", "main")):
            add(engine, [f"late{number}"], branch=name)
            acknowledged.add(f"late{number}")
        for seed in range(600 if pytestconfig.getoption("--whole") else 30):
            after = None
            for act in OPEN_AND_USE:
                try:
                    after = act(reboot(disk, tmp_path, seed) if after is None else after)
                    read += 1
                except GraphError:
                    refused += 1
                    if after is None:
                        break
            if after is not None:
                for target in ("main", "dev"):
                    assert set(seen(after, target)) <= acknowledged | {"new"}
    print(f"{read} requests were answered, {refused} refused")
    assert read > 50, "the simulation must leave something to read"


def seen(engine: Engine, target: str) -> list[str]:
    """What can be read; each id once."""
    found = []
    for kind in ("Person", "Place"):
        with suppress(GraphError):
            found += ids_of(engine, target, of=kind)
    assert len(set(found)) == len(found)
    return found


def use(act: Callable[[Engine], object]) -> Callable[[Any], Engine]:
    def run(engine: Engine) -> Engine:
        act(engine)
        return engine

    return run


OPEN_AND_USE: tuple[Callable[[Any], Engine], ...] = (
    open_engine,
    use(ids_of),
    use(lambda engine: ids_of(engine, "dev")),
    use(history),
    use(lambda engine: add(engine, ["new"])),
    use(lambda engine: add(engine, ["new"], branch="dev")),
    use(lambda engine: branch(engine, "other")),
    use(lambda engine: engine.lineage.refresh()),
)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("old_format", [1, 2])
@pytest.mark.parametrize("point", ["migrate.worked", "migrate.stamped", None])
def test_a_migration_that_loses_power_can_be_repeated(
    point: str | None, old_format: int, seed: int | None, tmp_path: Path
) -> None:
    root = tmp_path / "disk"
    root.mkdir()
    engine = new_engine(root / "graph", durability="power")
    add(engine, ["old"])
    branch(engine, "dev")
    age(root / "graph", old_format)
    with PowerLossDisk(root) as disk:
        if point is not None:
            faults.arm(point, lambda: reboot(disk, tmp_path, seed))
        with open_graph(root / "graph"):
            pass
        if point is None:
            reboot(disk, tmp_path, seed)
        with open_graph(tmp_path / f"after-{seed}" / "graph") as graph:
            after = graph._engine
            assert ids_of(after, "dev") == ["old"]
            assert check_graph(after) == []


def test_every_point_of_init_leaves_no_graph_or_a_whole_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boots = 0
    for number, point in enumerate(p for p in faults.POINTS if p.startswith("init.")):
        for seed in SEEDS:
            base = tmp_path / f"{number}-{seed}"
            base.mkdir()
            with a_disk(base) as (disk, path):
                faults.arm(point, lambda: reboot(disk, base, seed))  # noqa: B023
                new_engine(path, durability="power")
                faults.clear()
                boots += 1
                monkeypatch.setattr(owner, "_this_host", lambda: f"boot {boots}")  # noqa: B023
                after = base / f"after-{seed}" / "graph"
                try:
                    engine = open_engine(after)
                except GraphError:
                    engine = new_engine(after, durability="power", force=True)
                add(engine, ["first"])
                assert check_graph(engine) == [], (point, seed)
