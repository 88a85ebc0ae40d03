"""A graph is a directory: plain tools move and copy it. Guards INV-16."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from omnigraph.graph.open import init_graph, open_graph
from omnigraph.testing.kit import SCHEMA
from omnigraph.testing.verify import require_whole

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.api.graph import Graph

ADD = "query add($name: String) { insert Person { name: $name } }"
MEET = """query meet($a: String, $b: String) {
    insert Person { name: $a }
    insert Person { name: $b }
    insert Knows { from: $a, to: $b }
}"""
NAMES = "query names() { match { $p: Person } return { $p.name as name } order { name } }"


def names(graph: Graph, target: str) -> list[str]:
    return [row["name"] for row in graph.at(target).query(NAMES).to_json()["rows"]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Three branches with shared and diverged tables, a deleted one, and a tag."""
    path = tmp_path / "first place" / "graph.omni"
    with init_graph(path, SCHEMA) as graph:
        graph.mutate(MEET, {"a": "ada", "b": "bob"})
        graph.branches.create("dev/one")
        graph.branches.create("idle")
        graph.branches.create("gone")
        graph.mutate(ADD, {"name": "carl"}, branch="dev/one")
        graph.mutate(ADD, {"name": "dora"})
        graph.mutate(ADD, {"name": "eve"}, branch="gone")
        graph.branches.delete("gone")
        graph.tags.create("v1")
        graph.mutate(ADD, {"name": "fred"})
    return path


@pytest.mark.parametrize("command", [("cp", "-r"), ("mv",)], ids=["copied", "moved"])
def test_a_graph_that_nobody_writes_opens_elsewhere_with_all_its_branches(
    command: tuple[str, ...], path: Path, tmp_path: Path
) -> None:
    target = tmp_path / "second" / "place.omni"
    target.parent.mkdir()
    subprocess.run([*command, str(path), str(target)], check=True)
    with open_graph(target) as graph:
        assert names(graph, "main") == ["ada", "bob", "dora", "fred"]
        assert names(graph, "dev/one") == ["ada", "bob", "carl"]
        assert names(graph, "idle") == ["ada", "bob"]
        assert names(graph, "v1") == ["ada", "bob", "dora"]
        for branch in ("main", "dev/one", "idle"):
            graph.mutate(ADD, {"name": "new"}, branch=branch)
            assert "new" in names(graph, branch)
        require_whole(graph._engine)
    if path.exists():
        with open_graph(path) as original:
            assert names(original, "main") == ["ada", "bob", "dora", "fred"]
            original.mutate(ADD, {"name": "other"})
            require_whole(original._engine)


def test_a_copy_has_the_same_identity_and_a_life_of_its_own(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-r", str(path), str(copy)], check=True)
    with open_graph(path) as first, open_graph(copy) as second:
        assert first.id == second.id
        first.mutate(ADD, {"name": "here"})
        second.mutate(ADD, {"name": "there"})
        assert "there" not in names(first, "main")
        assert "here" not in names(second, "main")
        for graph in (first, second):
            require_whole(graph._engine)


def test_nothing_inside_a_graph_holds_its_path(path: Path) -> None:
    parent = str(path.parent).encode()
    for file in path.rglob("*"):
        assert not file.is_file() or parent not in file.read_bytes(), file
