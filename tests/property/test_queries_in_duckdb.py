"""Random reads on random graphs, against SQL in DuckDB."""

from __future__ import annotations

import datetime as dt
from functools import cache
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.testing.agreement import Question, same
from omnigraph.testing.examples import examples
from omnigraph.testing.random_products import product_reads
from omnigraph.testing.random_reads import CATALOG, NOW, PARAMS, RandomGraph, graphs, reads
from omnigraph.testing.sql_translator import MACROS, Translator, Untranslatable

if TYPE_CHECKING:
    from omnigraph.ir.queries import ReadIR


@cache
def connection() -> duckdb.DuckDBPyConnection:
    made = duckdb.connect(config={"threads": 1})
    made.execute("SET TimeZone = 'UTC'")
    made.execute(MACROS)
    return made


def in_duckdb(tables: dict[Any, Any], ir: ReadIR) -> list[list[Any]]:
    translator = Translator(CATALOG, PARAMS)
    sql = translator.read(ir)
    for type_id, table in tables.items():
        connection().register(type_id, table)
    found = connection().execute(sql, translator.values).fetchall()
    return [[plain(cell) for cell in row] for row in found]


def plain(cell: Any) -> Any:
    """An entity by its id, an instant in UTC, a number of DuckDB's as an int."""
    if isinstance(cell, dict):
        return cell["id"]
    if isinstance(cell, dt.datetime):
        return cell.astimezone(dt.UTC).isoformat()
    return cell


def compare(graph: RandomGraph, ir: ReadIR) -> bool:
    """Compare, and return whether there was something to compare."""
    tables = {type_id: graph.table(type_id) for type_id in CATALOG.types}
    schema, rows = Question(ir, CATALOG, tables, PARAMS, NOW).require_agreement()
    if schema == "failed":
        return False
    try:
        expected = in_duckdb(tables, ir)
    except Untranslatable:
        return False
    found = [[plain(cell) for cell in row.values()] for row in rows]
    assert same(found, expected), (found, expected)
    return True


@settings(max_examples=examples(60), deadline=None)
@given(graphs(), st.lists(reads(), min_size=1, max_size=3))
def test_reads_answer_as_sql_does(graph: RandomGraph, asked: list[ReadIR]) -> None:
    for ir in asked:
        compare(graph, ir)


@settings(max_examples=examples(60), deadline=None)
@given(graphs(), product_reads())
def test_aggregates_over_independent_components_equal_those_of_sql(
    graph: RandomGraph, ir: ReadIR
) -> None:
    compare(graph, ir)


@pytest.mark.slow
@settings(max_examples=4_000, deadline=None)
@given(graphs(), st.lists(reads() | product_reads(), min_size=3, max_size=5))
def test_reads_answer_as_sql_does_at_length(graph: RandomGraph, asked: list[ReadIR]) -> None:
    for ir in asked:
        compare(graph, ir)
