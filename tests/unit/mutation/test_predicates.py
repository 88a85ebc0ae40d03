"""The rows that a predicate matches are those of the naive evaluator, whoever finds them."""

from __future__ import annotations

import datetime as dt
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.api.queries import QueryRequest
from omnigraph.changeset.rows import from_arrow
from omnigraph.compiler import bind_params
from omnigraph.graph.open import init_graph
from omnigraph.ir.queries import Delete, MutationIR
from omnigraph.mutation.predicates import Allowance, PredicateMatcher
from omnigraph.semantics.predicates import matches
from omnigraph.session.query import compile_on

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.graph.facade import EmbeddedGraph

SCHEMA = """
node Thing {
    name: String @key
    count: I32?
    weight: F64?
    done: Bool?
    day: Date?
    at: DateTime?
    kind: enum(small, large)?
    words: [String]?
    numbers: [I64]?
}
"""
NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
# Some that storage answers, and many that it cannot.
CONDITIONS = (
    "count > weight",
    "weight = 1.5",
    "done = true",
    "done != false",
    "count = 2.5",
    "count in [1, 2]",
    "count in numbers",
    'words contains "a"',
    "numbers contains 3",
    "numbers contains count",
    'name contains "b"',
    "name in words",
    'kind = "small"',
    'day < date("2026-01-01")',
    "at < now()",
    "words is null",
    "name in $words",
    "weight != $weight",
)
ROWS: tuple[dict[str, Any], ...] = (
    {"name": "a", "count": 1, "weight": 0.5, "done": True, "words": ["a", "b"], "numbers": [1, 3]},
    {"name": "b", "count": 2, "weight": 2.0, "done": False, "kind": "small", "words": []},
    {"name": "ab", "count": 3, "day": "2025-05-01", "at": "2025-05-01T00:00:00Z", "kind": "large"},
    {"name": "c", "weight": -0.0, "day": "2026-05-01", "at": "2027-01-01T00:00:00Z"},
    {"name": "d"},
)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> EmbeddedGraph:
    path: Path = tmp_path_factory.mktemp("matching") / "g.omni"
    graph = init_graph(path, SCHEMA, durability="process")
    graph.load([{"type": "Thing", "data": row} for row in ROWS], mode="append")
    return graph


def agrees(graph: EmbeddedGraph, condition: str) -> set[str]:
    """The names that are found, after they were found to be those of the naive evaluator."""
    snapshot = graph.engine.snapshot()
    given = {"words": ["a", "b"], "weight": 2.0}
    used = {name: value for name, value in given.items() if f"${name}" in condition}
    declared = ", ".join(f"${n}: {'[String]' if n == 'words' else 'F64'}" for n in used)
    text = f"query q({declared}) {{ delete Thing where {condition} }}"
    ir = compile_on(graph.engine, snapshot, QueryRequest(text))
    assert isinstance(ir, MutationIR)
    (statement,) = ir.statements
    assert isinstance(statement, Delete)
    params = bind_params(ir, used)
    entity = snapshot.catalog.nodes[0]
    found = PredicateMatcher(snapshot, params, NOW, Allowance(1000, 10**6)).find(
        entity, statement.where, ["id"]
    )
    stored = from_arrow(entity, snapshot.table(entity.id).scan())
    expected = {row["@id"] for row in stored if matches(statement.where, row, params, NOW) is True}
    assert set(found.column("id").to_pylist()) == expected, condition
    return expected


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_matches_what_it_means(graph: EmbeddedGraph, condition: str) -> None:
    found = agrees(graph, condition)
    missed = agrees(graph, f"not ({condition})")
    assert not found & missed


def test_conditions_combine_as_they_mean(graph: EmbeddedGraph) -> None:
    for left, right in combinations(CONDITIONS, 2):
        agrees(graph, f"({left}) and not ({right})")
        agrees(graph, f"({left}) or ({right})")
