"""Loads against ``INSERT … ON CONFLICT`` of DuckDB: another engine, no shared code."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.errors import GraphError
from omnigraph.graph.open import init_graph

SCHEMA = """
node T {
    key: String @key
    r: I64
    a: I64?
    b: String? @default("d")
    c: [I64]?
}
"""
TABLE = """CREATE TABLE t (
    key TEXT PRIMARY KEY, r BIGINT NOT NULL, a BIGINT, b TEXT DEFAULT 'd', c BIGINT[])"""
TYPES = {
    "key": pa.string(),
    "r": pa.int64(),
    "a": pa.int64(),
    "b": pa.string(),
    "c": pa.list_(pa.int64()),
}
VALUES: dict[str, Any] = {
    "r": st.integers(0, 9),
    "a": st.none() | st.integers(-(2**40), 2**40),
    "b": st.none() | st.text("xyz\"'\\,", max_size=2),
    "c": st.none() | st.lists(st.integers(0, 9), max_size=2),
}
KEYS = {"key": st.sampled_from("klmn")}
records = st.lists(st.fixed_dictionaries(KEYS, optional=VALUES), min_size=1, max_size=4)


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows that all have the same columns."""
    names = draw(st.sets(st.sampled_from(sorted(VALUES))))
    rows = st.fixed_dictionaries(KEYS | {name: VALUES[name] for name in sorted(names)})
    return draw(st.lists(rows, min_size=1, max_size=4))


loads = st.tuples(
    st.sampled_from(["merge", "merge", "append"]),
    st.tuples(st.sampled_from(["ndjson", "array", "records", "flat"]), records)
    | st.tuples(st.sampled_from(["csv", "parquet", "table"]), tables()),
)


def cell(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value)
    return '"' + text.replace('"', '""') + '"'


def source_of(kind: str, rows: list[dict[str, Any]]) -> Any:
    wrapped = [{"type": "T", "data": row} for row in rows]
    match kind:
        case "ndjson":
            return b"".join(json.dumps(row).encode() + b"\n" for row in wrapped)
        case "array":
            return json.dumps(wrapped, indent=1).encode()
        case "records":
            return wrapped
        case "flat":
            return rows
        case "csv":
            cells = [",".join(cell(row[name]) for name in rows[0]) for row in rows]
            lines = [",".join(rows[0]), *cells]
            return "\n".join([*lines, ""]).encode()
        case _:
            return _binary(kind, rows)


def _binary(kind: str, rows: list[dict[str, Any]]) -> Any:
    table = pa.table({name: pa.array([r[name] for r in rows], TYPES[name]) for name in rows[0]})
    if kind == "table":
        return table
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def in_sql(db: duckdb.DuckDBPyConnection, mode: str, row: dict[str, Any]) -> None:
    """One record. DuckDB checks NOT NULL of the proposed row, so an upsert of an existing key
    proposes the stored value of ``r``."""
    sets = ", ".join(f"{name} = excluded.{name}" for name in row if name != "key")
    if mode == "merge" and "r" not in row:
        held = db.execute("SELECT r FROM t WHERE key = ?", [row["key"]]).fetchone()
        row = {**row, "r": held[0] if held else None}
    names, marks = ", ".join(row), ", ".join("?" for _ in row)
    conflict = f" ON CONFLICT (key) DO {'UPDATE SET ' + sets if sets else 'NOTHING'}"
    text = f"INSERT INTO t ({names}) VALUES ({marks})"  # noqa: S608 - names of ours
    db.execute(text + (conflict if mode == "merge" else ""), list(row.values()))


def rows_of_sql(db: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    return db.execute("SELECT key, r, a, b, c FROM t ORDER BY key").fetchall()


def load_in_sql(db: duckdb.DuckDBPyConnection, mode: str, rows: list[dict[str, Any]]) -> bool:
    """Whether all records can be inserted one after the other; else nothing of them stays."""
    before = rows_of_sql(db)
    try:
        for row in rows:
            in_sql(db, mode, row)
    except duckdb.ConstraintException:
        db.execute("DROP TABLE t")
        db.execute(TABLE)
        for held in before:
            db.execute("INSERT INTO t VALUES (?, ?, ?, ?, ?)", held)
        return False
    return True


def names_late(rows: list[dict[str, Any]]) -> bool:
    """Whether a required value comes with a later record than the first about its entity: a load
    checks the folded row, SQL every statement."""
    first: dict[str, bool] = {}
    return any(
        "r" in row and not first[row["key"]]
        for row in rows
        if row["key"] in first or first.setdefault(row["key"], "r" in row) is None
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(loads, min_size=1, max_size=5))
def test_loads_do_what_sql_does(
    history: list[tuple[str, tuple[str, list[dict[str, Any]]]]],
) -> None:
    with tempfile.TemporaryDirectory() as place, duckdb.connect() as db:
        graph = init_graph(Path(place) / "g.omni", SCHEMA, durability="process")
        db.execute(TABLE)
        for mode, (kind, rows) in history:
            if mode == "merge" and names_late(rows):
                continue
            expected = load_in_sql(db, mode, rows)
            flat: dict[str, Any] = {} if kind in ("ndjson", "array", "records") else {"type": "T"}
            form: dict[str, Any] = {"format": "csv"} if kind == "csv" else {}
            try:
                graph.load(source_of(kind, rows), mode=mode, **flat, **form)
                done = True
            except GraphError:
                done = False
            assert done is expected, (mode, kind, rows)
            out = io.BytesIO()
            graph.export(out)
            found = [json.loads(line)["data"] for line in out.getvalue().splitlines()]
            assert sorted(tuple(row.values()) for row in found) == rows_of_sql(db)
