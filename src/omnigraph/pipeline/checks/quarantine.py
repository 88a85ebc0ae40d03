"""Quarantine of bad records, so that the good ones load, and reports as files.

Quarantining a record can invalidate others: the edges of a node that is not loaded lose their end.
So the load is validated again without the bad records, until nothing is wrong. A violation that no
record causes cannot be quarantined.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from omnigraph.errors import InvalidInput
from omnigraph.frozen import frozen
from omnigraph.pipeline.scratch.job_context import Stored
from omnigraph.pipeline.scratch.row_chunks import RECORD, unpack
from omnigraph.pipeline.scratch.violation_rows import VIOLATIONS, spelled_value
from omnigraph.pipeline.spark.tasks import map_tasks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from omnigraph.integrity.violations import Violation
    from omnigraph.pipeline.checks.findings import Findings
    from omnigraph.pipeline.checks.load_change import Incoming
    from omnigraph.pipeline.checks.violation_formatter import ViolationFormatter
    from omnigraph.pipeline.spark.graph_location import GraphLocation

__all__ = ["ROUNDS_MAX", "find_bad", "write_bad_records", "write_violations"]

# The longest chain of records that invalidate each other; graphs are rarely deeper.
ROUNDS_MAX = 32

_BAD = "what string, t int, record bigint"
_BAD_SCHEMA = pa.schema([("what", pa.string()), ("t", pa.int32()), (RECORD, pa.int64())])
_ROWS_AT_ONCE = 10_000


@frozen
class _Suspects:
    """Files that name bad records of one type in one piece."""

    t: int
    keys: str
    named: tuple[str, ...]
    known: tuple[str, ...]


def find_bad(incoming: Incoming, findings: Findings, *, typed: bool) -> Stored:
    """Return new records to quarantine; with ``typed``, also those with bad values."""
    desk, material = incoming.desk, incoming.material
    numbers = {entity.name: incoming.number(entity) for entity in incoming.entities}
    keys = [file.key for file in findings.stored.files]
    keys += material.violation_files if typed else []
    if not keys:
        return Stored()
    named = map_tasks(desk.spark, keys, partial(_read_named, desk.site, numbers), _BAD)
    suspects = desk.store(named, parts=len(keys)).get("bad", Stored())
    work = [
        _Suspects(
            number,
            part.keys,
            suspects.keys_of(number, piece),
            incoming.rejected.keys_of(number, piece),
        )
        for entity in incoming.entities
        for number in [incoming.number(entity)]
        for piece, part in material.rows(entity.id)
        if suspects.keys_of(number, piece)
    ]
    if not work:
        return Stored()
    found = map_tasks(desk.spark, work, partial(_read_loaded, desk.site), _BAD)
    return desk.store(found, parts=1).get("bad", Stored())


# --- on executors ------------------------------------------------------------------------------


def _read_named(
    site: GraphLocation, numbers: Mapping[str, int], key: str
) -> Iterator[pa.RecordBatch]:
    """Return the records that a file of findings or of violations refers to."""
    rows = unpack(site, key)
    rows = rows.filter(pc.is_valid(rows.column(RECORD)))
    if "t" in rows.column_names:
        types = rows.column("t").to_numpy()
    else:
        types = np.array([numbers.get(name, -1) for name in rows.column("type").to_pylist()])
    yield from _bad(types, rows.column(RECORD).to_numpy())


def _read_loaded(site: GraphLocation, suspects: _Suspects) -> Iterator[pa.RecordBatch]:
    """Return, once each, the records among the suspects that the load contains."""
    records = unpack(site, suspects.keys).column(RECORD).to_numpy()
    named = np.isin(records, _records(site, suspects.named))
    fresh = ~np.isin(records, _records(site, suspects.known))
    bad = records[named & fresh]
    yield from _bad(np.full(len(bad), suspects.t), bad)


def _records(site: GraphLocation, keys: tuple[str, ...]) -> np.ndarray:
    found = [unpack(site, key).column(RECORD).to_numpy() for key in keys]
    return np.concatenate(found) if found else np.empty(0, np.int64)


def _bad(types: np.ndarray, records: np.ndarray) -> Iterator[pa.RecordBatch]:
    # Deletions have the complement of their type number, and violate no rule.
    kept = types >= 0
    if kept.any():
        arrays = [np.repeat("bad", kept.sum()), types[kept], records[kept]]
        columns = [pa.array(a).cast(each.type) for a, each in zip(arrays, _BAD_SCHEMA, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, schema=_BAD_SCHEMA)


# --- files -------------------------------------------------------------------------------------


def write_violations(directory: str, words: ViolationFormatter, found: list[Findings]) -> str:
    """Write all formatted violations to ``violations.parquet``, in no particular order."""
    path = _made(directory) / "violations.parquet"
    files = list(words.material.violation_files)
    files += [file.key for findings in found for file in findings.stored.files]
    with pq.ParquetWriter(path, VIOLATIONS) as writer:
        for header in words.material.headers:
            writer.write_table(_table([header]))
        for key in files:
            rows = unpack(words.site, key)
            for start in range(0, rows.num_rows, _ROWS_AT_ONCE):
                told = rows.slice(start, _ROWS_AT_ONCE).to_pylist()
                writer.write_table(_table([words.violation(row) for row in told]))
    return str(path)


def write_bad_records(directory: str, incoming: Incoming) -> None:
    """Write quarantined rows to ``<type>.parquet``; an unreadable record is not a row."""
    site, material = incoming.desk.site, incoming.material
    for entity in incoming.entities:
        number = incoming.number(entity)
        writer = None
        for piece, part in material.rows(entity.id):
            bad = _records(site, incoming.rejected.keys_of(number, piece))
            if not len(bad):
                continue
            records = unpack(site, part.keys).column(RECORD).to_numpy()
            rows = unpack(site, part.rows or "").filter(pa.array(np.isin(records, bad)))
            names = {prop.column: prop.name for prop in entity.by_id.values()}
            rows = rows.rename_columns([names.get(name, name) for name in rows.column_names])
            writer = writer or pq.ParquetWriter(
                _made(directory) / f"{entity.name}.parquet", rows.schema
            )
            writer.write_table(rows)
        if writer is not None:
            writer.close()


def _table(violations: list[Violation]) -> pa.Table:
    rows = [
        {
            **{name: getattr(found, name) for name in VIOLATIONS.names},
            "value": spelled_value(found.value),
        }
        for found in violations
    ]
    return pa.Table.from_pylist(rows, schema=VIOLATIONS)


def _made(directory: str) -> Path:
    path = Path(directory)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(
            "load.report_unwritable",
            f"{path} cannot be created: {error.strerror or error}",
            remedy="name a directory that exists or can be created",
        ) from error
    return path
