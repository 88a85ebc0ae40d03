"""Power that goes while a schema is applied or a graph is cloned. Guards INV-6."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from omnigraph.coordination import owner
from omnigraph.errors import GraphError
from omnigraph.graph.facade import EmbeddedGraph
from omnigraph.graph.open import clone_graph
from omnigraph.runtime import faults
from omnigraph.testing.kit import add, ids_of, new_engine, open_engine, table_of
from omnigraph.testing.kit_steps import WRITE_POINTS
from omnigraph.testing.power import PowerLossDisk
from omnigraph.testing.verify import require_whole
from omnigraph.versioning import layout
from omnigraph.versioning.branches import create_branch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from omnigraph.session.engine import Engine

SEEDS = (None, 1)
SCHEMA = """
node Person { name: String @key  age: I64?  kind: String @default("x") }
node Pet { name: String @key }
edge Knows: Person -> Person
"""
CLONE_POINTS = tuple(point for point in faults.POINTS if point.startswith("clone."))


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The simulated disk remembers what was synced; the real one need not bother."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    yield
    faults.clear()


def cut(disk: PowerLossDisk, target: Path, seed: int | None) -> None:
    shutil.rmtree(target, ignore_errors=True)
    disk.cut_to(target, seed=seed)


def populated(path: Path) -> Engine:
    engine = new_engine(path, durability="power")
    add(engine, ["old"])
    create_branch(engine.root, engine.heads, "dev", engine.resolver.resolve("main"))
    add(engine, ["side"], branch="dev")
    return engine


@pytest.fixture(autouse=True)
def _machine_restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is opened is opened after the restart of the machine that wrote it."""
    monkeypatch.setattr(owner.Owner, "shares_boot", lambda _: False)
    monkeypatch.setattr(owner, "booted_at_micros", lambda: 2**62)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("point", ["evolve.staged", "evolve.created", *WRITE_POINTS, None])
def test_a_schema_is_applied_whole_or_not_at_all(
    point: str | None, seed: int | None, tmp_path: Path
) -> None:
    root, after = tmp_path / "disk", tmp_path / "after"
    root.mkdir()
    with PowerLossDisk(root) as disk:
        engine = populated(root / "graph")
        if point is not None:
            faults.arm(point, lambda: cut(disk, after, seed))
        EmbeddedGraph(engine).apply_schema(SCHEMA)
        if point is None:
            cut(disk, after, seed)
        faults.clear()
        found = open_engine(after / "graph")
        is_new = found.snapshot().catalog.node("Pet") is not None
        assert is_new or point is not None, "it was acknowledged"
        assert ids_of(found) == ["old"]
        if is_new:
            assert table_of(found).scan(["kind"])["kind"].to_pylist() == ["x"]
            assert ids_of(found, of="Pet") == []
        assert ids_of(found, "dev") == ["old", "side"]
        for name in ("main", "dev"):
            add(found, ["after"], branch=name)
        require_whole(found)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("point", [*CLONE_POINTS, None])
def test_a_clone_is_a_graph_or_goes_on(point: str | None, seed: int | None, tmp_path: Path) -> None:
    root, after = tmp_path / "disk", tmp_path / "after"
    root.mkdir()
    populated(tmp_path / "source")
    with PowerLossDisk(root) as disk:
        if point is not None:
            faults.arm(point, lambda: cut(disk, after, seed))
        clone_graph(tmp_path / "source", root / "graph")
        if point is None:
            cut(disk, after, seed)
        faults.clear()
        try:
            require_whole(open_engine(after / "graph"))
        except GraphError as unfinished:
            assert point is not None, "it was acknowledged"
            assert unfinished.code in ("graph.half_cloned", "graph.missing")
        if not (after / "graph" / layout.CLONE_MARKER).exists():
            # Not even the directory had to survive the very first moments.
            assert point in ("clone.begun", "clone.stamped", None)
        clone_graph(tmp_path / "source", after / "graph", incremental=True)
        found = open_engine(after / "graph")
        assert ids_of(found, "dev") == ["old", "side"]
        require_whole(found)
