"""Hand-written code beside the library that could replace it (ADR-0035)."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.json as pj

from bench.harness import Table, median_of
from omnigraph.catalog.build import build_catalog
from omnigraph.changes.row_digests import digest_rows
from omnigraph.datatypes.arrow import table_schema
from omnigraph.export.json_lines import json_lines
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source
from omnigraph.loading.json_decoder import Decoder
from omnigraph.loading.line_templates import read_strings
from omnigraph.pipeline.checks.exchange import hash_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.catalog.model import NodeType

ROWS = 100_000
_SCHEMA = "node Person { name: String @key\n age: I32?\n score: F64?\n city: String? }"
_BLOCK = 2**20


def run(part: str | None = None) -> Iterator[Table]:
    """Yield one table per piece of hand-written code."""
    tables = {
        "export": _export_table,
        "digests": _digest_table,
        "lines": _lines_table,
        "hash": _hash_table,
    }
    for name, make in tables.items():
        if part in (None, name):
            yield make()


def _rows() -> tuple[NodeType, pa.RecordBatch]:
    source = Source(_SCHEMA)
    (person,) = build_catalog(parse_schema(source), source).nodes
    ids = pa.array([f"p{number}" for number in range(ROWS)])
    scores = pa.array(np.random.default_rng(7).random(ROWS))
    ages = pa.array(np.arange(ROWS) % 90, pa.int32())
    values = {"name": ids, "age": ages, "score": scores, "city": pa.array(["Bonn"] * ROWS)}
    arrays = [ids, *(values[prop.name] for prop in person.properties)]
    return person, pa.RecordBatch.from_arrays(arrays, schema=table_schema(person))


def _export_table() -> Table:
    person, batch = _rows()

    def by_row() -> bytes:
        rows = ({"type": "Person", "data": row} for row in batch.to_pylist())
        return b"".join(json.dumps(row).encode() + b"\n" for row in rows)

    table = Table(f"{ROWS} rows to JSON lines", "json.dumps per row")
    table.add("json.dumps per row", median_of(by_row))
    table.add("export.json_lines", median_of(lambda: json_lines(person, batch)))
    return table


def _digest_table() -> Table:
    person, batch = _rows()
    columns: dict[str, pa.Array] = {
        prop.id: batch.column(prop.column) for prop in person.properties
    }

    def by_row() -> list[bytes]:
        rows = zip(*(column.to_pylist() for column in columns.values()), strict=True)
        return [hashlib.blake2b(repr(row).encode(), digest_size=16).digest() for row in rows]

    table = Table(f"digests of {ROWS} rows", "blake2b per row")
    table.add("blake2b per row", median_of(by_row))
    table.add("changes.row_digests", median_of(lambda: digest_rows(columns, ROWS)))
    return table


def _lines_table() -> Table:
    lines = b"".join(
        b'{"edge":"Knows","from":"p%d","to":"p%d"}\n' % (at, at * 7 % ROWS) for at in range(ROWS)
    )
    data, first = pa.py_buffer(lines), lines[: lines.index(b"\n") + 1]
    whole = pj.ReadOptions(use_threads=False, block_size=len(lines) + 1)

    def decode() -> int:
        decoder = Decoder()
        blocks = (lines[at : at + _BLOCK] for at in range(0, len(lines), _BLOCK))
        return sum(len(decoder.feed(block)) for block in blocks)

    table = Table(f"{ROWS} edges from JSON lines", "json.loads per line")
    table.add("json.loads per line", median_of(lambda: [*map(json.loads, lines.splitlines())]))
    table.add("pyarrow.json", median_of(lambda: pj.read_json(pa.BufferReader(data), whole)))
    table.add("loading.line_templates", median_of(lambda: read_strings(data, first, "edge", ())))
    table.add("loading.json_decoder", median_of(decode))
    return table


def _hash_table() -> Table:
    ids = pa.chunked_array([pa.array([f"p{number}" for number in range(ROWS)])])

    def by_value() -> list[int]:
        return [hash(text) for text in ids.to_pylist()]

    table = Table(f"hashes of {ROWS} ids", "hash() per value")
    table.add("hash() per value", median_of(by_value))
    table.add("pipeline.checks.exchange.hash_texts", median_of(lambda: hash_texts(ids)))
    return table
