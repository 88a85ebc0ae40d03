"""After its answer a command indexes what is far from being covered, one table at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from omnigraph.graph.open import init_graph
from omnigraph.maintenance import background as upkeep_module
from omnigraph.maintenance.background import maintain_slice
from omnigraph.maintenance.indexes import MAINTENANCE, list_indexes

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.graph.facade import EmbeddedGraph

SCHEMA = """
node Person {
    name: String @key
    bio: String? @index
}
edge Knows: Person -> Person
"""
FEW = 5_000


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EmbeddedGraph:
    monkeypatch.setattr(upkeep_module, "UNCOVERED_ROWS_FAR", FEW)
    return init_graph(tmp_path / "g.omni", SCHEMA, durability="process")


def _load(graph: EmbeddedGraph, count: int, prefix: str = "p") -> None:
    names = [f"{prefix}{number}" for number in range(count)]
    people = pa.table({"name": names, "bio": names})
    graph.load({"Person": people}, mode="append")


def _uncovered(graph: EmbeddedGraph) -> dict[tuple[str, str, str], int]:
    return {
        (found.type, found.property, found.kind.value): found.uncovered_rows
        for found in list_indexes(graph.engine)
    }


def test_little_is_no_reason_for_a_commit(graph: EmbeddedGraph) -> None:
    _load(graph, FEW - 1)
    assert maintain_slice(graph.engine) is None
    assert graph.commits.list().commits[0].kind == "load"


def test_what_is_looked_up_gets_its_index_and_nothing_dearer(graph: EmbeddedGraph) -> None:
    _load(graph, FEW)
    done = maintain_slice(graph.engine)
    assert done is not None
    assert done.commit is not None
    assert (done.commit.kind, done.commit.actor) == ("maintenance", MAINTENANCE)
    uncovered = _uncovered(graph)
    assert uncovered["Person", "name", "order"] == 0
    assert uncovered["Person", "bio", "words"] == FEW
    assert maintain_slice(graph.engine) is None
    _load(graph, FEW, "q")
    assert maintain_slice(graph.engine) is not None
    assert _uncovered(graph)["Person", "name", "order"] == 0


def test_the_table_that_needs_it_most_is_first_and_the_largest_are_left(
    graph: EmbeddedGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    _load(graph, FEW)
    ends = pa.array([f"p{number}" for number in range(FEW)])
    edges = pa.concat_tables([pa.table({"from": ends, "to": ends})] * 2)
    graph.load({"Knows": edges}, mode="append")
    first, second = maintain_slice(graph.engine), maintain_slice(graph.engine)
    assert [{each.type for each in done.outcomes} for done in (first, second) if done] == [
        {"Knows"},
        {"Person"},
    ]
    monkeypatch.setattr(upkeep_module, "_SLICE_ROWS_MAX", FEW)
    _load(graph, FEW + 1, "more")
    assert maintain_slice(graph.engine) is None
