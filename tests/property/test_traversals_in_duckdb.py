"""Traversals on random graphs, against SQL in DuckDB: directions, and hops by distance.

The SQL is written from the page of the query language and shares no code with the compiler, the
reference evaluator or the engine.
"""

from __future__ import annotations

import datetime as dt
from functools import cache
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.catalog.build import build_catalog
from omnigraph.compiler import compile_source
from omnigraph.datatypes.arrow import table_schema
from omnigraph.ir.queries import ReadIR
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source
from omnigraph.testing.agreement import Question
from omnigraph.testing.examples import examples

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCHEMA = Source(
    """
node Person { name: String @key }
node Paper { name: String @key }
edge Knows: Person -> Person
edge Wrote: Person -> Paper
"""
)
CATALOG = build_catalog(parse_schema(SCHEMA), SCHEMA)
NOW = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
# Both node types use the same ids: only the types of its ends direct an edge between them.
IDS = "abcde"
Pairs = list[tuple[str, str]]
Rows = list[tuple[Any, ...]]


def tables(knows: Pairs, wrote: Pairs) -> dict[str, pa.Table]:
    """The rows of each type, by its name. Parallel edges are different edges."""
    rows: Mapping[str, list[dict[str, str]]] = {
        "Person": [{"id": each, "name": each} for each in IDS],
        "Paper": [{"id": each, "name": each} for each in IDS],
        "Knows": _edges(knows),
        "Wrote": _edges(wrote),
    }
    return {
        entity.name: pa.Table.from_pylist(rows[entity.name], schema=table_schema(entity))
        for entity in CATALOG.types.values()
        if entity.name in rows
    }


def _edges(pairs: Pairs) -> list[dict[str, str]]:
    return [{"id": f"e{at}", "src": src, "dst": dst} for at, (src, dst) in enumerate(pairs)]


def ask_engine(stored: Mapping[str, pa.Table], match: str, returns: Sequence[str]) -> Rows:
    """The rows by the reference evaluator, which both ways of access must agree with."""
    columns = ", ".join(f"${name}.id as {name}" for name in returns)
    ir = compile_source(CATALOG, f"query q() {{ match {{ {match} }} return {{ {columns} }} }}")
    assert isinstance(ir, ReadIR)
    by_id = {
        type_id: stored[entity.name]
        for type_id, entity in CATALOG.types.items()
        if entity.name in stored
    }
    schema, rows = Question(ir, CATALOG, by_id, {}, NOW).require_agreement()
    assert schema != "failed"
    return _sorted(rows)


def _sorted(rows: Any) -> Rows:
    return sorted(tuple(row.values()) for row in rows)


def ask_duckdb(stored: Mapping[str, pa.Table], sql: str, **params: Any) -> Rows:
    connection = _connection()
    for name, table in stored.items():
        connection.register(name.lower(), table)
    return sorted(connection.execute(sql, params).fetchall())


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})


# Destinations at a shortest depth between the bounds; a loop counts one deeper as well.
DISTANCE = """
    WITH RECURSIVE step(src, dst) AS (
        SELECT src, dst FROM knows UNION SELECT dst, src FROM knows WHERE $both_ways
    ),
    walk(start, node, depth) AS (
        SELECT id, id, 0 FROM person
        UNION
        SELECT walk.start, step.dst, walk.depth + 1
        FROM walk JOIN step ON step.src = walk.node WHERE walk.depth < $high
    ),
    shortest AS (SELECT start, node, min(depth) AS depth FROM walk GROUP BY start, node),
    reached AS (
        SELECT start, node, depth FROM shortest WHERE depth > 0
        UNION
        SELECT start, node, depth + 1 FROM shortest JOIN step ON src = node AND dst = node
    )
    SELECT DISTINCT start, node FROM reached WHERE depth BETWEEN $low AND $high
"""
# Destinations of walks of exactly that length, as Cypher and GQL count them.
WALKS = """
    WITH RECURSIVE walk(start, node, depth) AS (
        SELECT id, id, 0 FROM person
        UNION
        SELECT walk.start, knows.dst, walk.depth + 1
        FROM walk JOIN knows ON knows.src = walk.node WHERE walk.depth < $length
    )
    SELECT DISTINCT start, node FROM walk WHERE depth = $length
"""

# A pattern, the variables that it returns, and the same question in SQL.
DIRECTIONS = [
    ("$p wrote $d", "pd", "SELECT DISTINCT src, dst FROM wrote"),
    ("$d: Paper  $d wrote $p", "pd", "SELECT DISTINCT src, dst FROM wrote"),
    ("$d wrote $p  $p: Person", "pd", "SELECT DISTINCT src, dst FROM wrote"),
    ("$d $w:wrote $p  $d: Paper", "wpd", "SELECT id, src, dst FROM wrote"),
    ("$a knows $b", "ab", "SELECT DISTINCT src, dst FROM knows"),
    ("$b knows $a", "ab", "SELECT DISTINCT dst, src FROM knows"),
    ("$a <knows> $b", "ab", "SELECT src, dst FROM knows UNION SELECT dst, src FROM knows"),
    ("$a knows $a", "a", "SELECT DISTINCT src FROM knows WHERE src = dst"),
    (
        "$p wrote $d  $q wrote $d",
        "pqd",
        "SELECT DISTINCT x.src, y.src, x.dst FROM wrote x JOIN wrote y ON x.dst = y.dst",
    ),
    (
        "$d wrote $p  $p knows $q  $q wrote $e",
        "dpqe",
        "SELECT DISTINCT x.dst, x.src, k.dst, y.dst FROM wrote x "
        "JOIN knows k ON k.src = x.src JOIN wrote y ON y.src = k.dst",
    ),
    (
        "$a wrote $b  $b wrote $c  $c wrote $d  $d: Person",
        "abcd",
        "SELECT DISTINCT x.dst, x.src, y.dst, z.src FROM wrote x "
        "JOIN wrote y ON y.src = x.src JOIN wrote z ON z.dst = y.dst",
    ),
    (
        "$d: Paper  not { $d wrote $p  $p knows $q }",
        "d",
        "SELECT id FROM paper WHERE NOT EXISTS (SELECT * FROM wrote w "
        "JOIN knows k ON k.src = w.src WHERE w.dst = paper.id)",
    ),
    (
        "$p: Person  exists { $d wrote $q  $q knows $p }",
        "p",
        "SELECT id FROM person WHERE EXISTS (SELECT * FROM wrote w "
        "JOIN knows k ON k.src = w.src WHERE k.dst = person.id)",
    ),
]

pairs = st.lists(st.tuples(st.sampled_from(IDS), st.sampled_from(IDS)), max_size=9)


@pytest.mark.parametrize(
    ("match", "returns", "sql"), DIRECTIONS, ids=[match for match, _, _ in DIRECTIONS]
)
@settings(max_examples=examples(15), deadline=None)
@given(knows=pairs, wrote=pairs)
def test_directions_are_those_of_the_declaration(
    match: str, returns: str, sql: str, knows: Pairs, wrote: Pairs
) -> None:
    stored = tables(knows, wrote)
    assert ask_engine(stored, match, returns) == ask_duckdb(stored, sql)


@settings(max_examples=examples(80), deadline=None)
@given(pairs, st.integers(1, 4), st.integers(0, 3), st.booleans())
def test_hops_are_counted_by_the_shortest_distance(
    knows: Pairs, low: int, more: int, both_ways: bool
) -> None:
    stored = tables(knows, [])
    edge = "<knows>" if both_ways else "knows"
    found = ask_engine(stored, f"$a {edge}{{{low},{low + more}}} $b", "ab")
    bounds = {"low": low, "high": low + more, "both_ways": both_ways}
    assert found == ask_duckdb(stored, DISTANCE, **bounds)


@settings(max_examples=examples(40), deadline=None)
@given(pairs)
def test_edges_written_one_by_one_are_walks(knows: Pairs) -> None:
    stored = tables(knows, [])
    rows = ask_engine(stored, "$a knows $m  $m knows $b", "ab")
    assert sorted(set(rows)) == ask_duckdb(stored, WALKS, length=2)


def test_a_shortcut_hides_the_longer_way() -> None:
    stored = tables([("a", "b"), ("b", "c"), ("a", "c")], [])
    assert ask_engine(stored, "$a knows{2,2} $b", "ab") == []
    assert ask_duckdb(stored, DISTANCE, low=2, high=2, both_ways=False) == []
    assert ask_duckdb(stored, WALKS, length=2) == [("a", "c")]
    assert ask_engine(stored, "$a knows $m  $m knows $b", "ab") == [("a", "c")]
