"""Upserts against ``INSERT … ON CONFLICT`` of DuckDB: another engine, no shared code."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path
from typing import Any

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.errors import KeyConflict
from omnigraph.graph.open import init_graph

SCHEMA = """
node T {
    key: String @key
    a: I64?
    b: String? @default("d")
    c: [I64]?
}
"""
TABLE = "CREATE TABLE t (key TEXT PRIMARY KEY, a BIGINT, b TEXT DEFAULT 'd', c BIGINT[])"
VALUES = {
    "a": st.none() | st.integers(-(2**40), 2**40),
    "b": st.none() | st.text("xyz", max_size=2),
    "c": st.none() | st.lists(st.integers(0, 9), max_size=2),
}
rows = st.fixed_dictionaries({"key": st.sampled_from("klmn")}, optional=VALUES)
statements = st.tuples(st.sampled_from(["insert", "create", "replace"]), rows)
mutations = st.lists(statements, min_size=1, max_size=4)


def literal(value: Any) -> str:
    return json.dumps(value)


def as_gq(mutation: list[tuple[str, dict[str, Any]]]) -> str:
    lines = [
        f"{verb} T {{ {', '.join(f'{name}: {literal(value)}' for name, value in row.items())} }}"
        for verb, row in mutation
    ]
    return f"query q() {{ {' '.join(lines)} }}"


def in_sql(db: duckdb.DuckDBPyConnection, verb: str, row: dict[str, Any]) -> None:
    names, marks = ", ".join(row), ", ".join("?" for _ in row)
    if verb == "replace":
        db.execute("DELETE FROM t WHERE key = ?", [row["key"]])
    conflict = ""
    if verb == "insert":
        sets = ", ".join(f"{name} = excluded.{name}" for name in row if name != "key")
        conflict = f" ON CONFLICT (key) DO {'UPDATE SET ' + sets if sets else 'NOTHING'}"
    text = f"INSERT INTO t ({names}) VALUES ({marks}){conflict}"  # noqa: S608 - names of ours
    db.execute(text, list(row.values()))


def rows_of_sql(db: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    return db.execute("SELECT key, a, b, c FROM t ORDER BY key").fetchall()


def commit_in_sql(db: duckdb.DuckDBPyConnection, mutation: list[tuple[str, Any]]) -> bool:
    """Whether the statements succeed; else nothing of them stays."""
    before = rows_of_sql(db)
    try:
        for verb, row in mutation:
            in_sql(db, verb, row)
    except duckdb.ConstraintException:
        # Over-eager key checks of transactions are no part of the comparison: restore by hand.
        db.execute("DROP TABLE t")
        db.execute(TABLE)
        for row in before:
            db.execute("INSERT INTO t VALUES (?, ?, ?, ?)", row)
        return False
    return True


@settings(max_examples=25, deadline=None)
@given(st.lists(mutations, min_size=1, max_size=5))
def test_statements_do_what_sql_does(history: list[list[tuple[str, dict[str, Any]]]]) -> None:
    with tempfile.TemporaryDirectory() as place, duckdb.connect() as db:
        graph = init_graph(Path(place) / "g.omni", SCHEMA, durability="process")
        db.execute(TABLE)
        for mutation in history:
            expected = commit_in_sql(db, mutation)
            try:
                graph.mutate(as_gq(mutation))
                done = True
            except KeyConflict:
                done = False
            assert done is expected
            out = io.BytesIO()
            graph.export(out)
            found = [json.loads(line)["data"] for line in out.getvalue().splitlines()]
            assert sorted(tuple(row.values()) for row in found) == rows_of_sql(db)
