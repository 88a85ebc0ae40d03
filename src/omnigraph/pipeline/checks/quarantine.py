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
from omnigraph.integrity.unnamed import UNNAMED
from omnigraph.pipeline.scratch.job_context import StoredRows
from omnigraph.pipeline.scratch.row_chunks import RECORD, read_column, read_scratch
from omnigraph.pipeline.scratch.violation_rows import VIOLATIONS, encode_value
from omnigraph.pipeline.spark.tasks import map_tasks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from omnigraph.integrity.violations import Violation
    from omnigraph.pipeline.checks.findings import Findings
    from omnigraph.pipeline.checks.load_change import LoadChange
    from omnigraph.pipeline.checks.violation_formatter import ViolationFormatter
    from omnigraph.pipeline.spark.graph_location import GraphLocation

__all__ = ["ROUNDS_MAX", "find_bad_records", "write_bad_records", "write_violations"]

# The longest chain of records that invalidate each other; graphs are rarely deeper.
ROUNDS_MAX = 32

_BAD = "what string, t int, record bigint"
_BAD_SCHEMA = pa.schema([("what", pa.string()), ("t", pa.int32()), (RECORD, pa.int64())])
_ROWS_AT_ONCE = 10_000


@frozen
class _BadRecordFiles:
    """Files that name bad records of one type in one chunk."""

    t: int
    keys: str
    named: tuple[str, ...]
    known: tuple[str, ...]


def find_bad_records(change: LoadChange, findings: Findings, *, typed: bool) -> StoredRows:
    """Return new records to quarantine; with ``typed``, also those with bad values."""
    context, read_input = change.context, change.read_input
    numbers = {entity.name: change.number(entity) for entity in change.entities}
    keys = [file.key for file in findings.stored.files]
    keys += read_input.violation_files if typed else []
    if not keys:
        return StoredRows()
    named = map_tasks(context.spark, keys, partial(_read_named, context.location, numbers), _BAD)
    suspects = context.store(named, parts=len(keys)).get("bad", StoredRows())
    work = [
        _BadRecordFiles(
            number,
            part.keys,
            suspects.keys_of(number, chunk),
            change.rejected.keys_of(number, chunk),
        )
        for entity in change.entities
        for number in [change.number(entity)]
        for chunk, part in read_input.rows(entity.id)
        if suspects.keys_of(number, chunk)
    ]
    if not work:
        return StoredRows()
    found = map_tasks(context.spark, work, partial(_read_loaded, context.location), _BAD)
    return context.store(found, parts=1).get("bad", StoredRows())


# --- on executors ------------------------------------------------------------------------------


def _read_named(
    location: GraphLocation, numbers: Mapping[str, int], key: str
) -> Iterator[pa.RecordBatch]:
    """Return the records that a file of findings or of violations refers to."""
    rows = read_scratch(location, key)
    rows = rows.filter(pc.is_valid(rows.column(RECORD)))
    if "t" in rows.column_names:
        types = rows.column("t").to_numpy()
    else:
        types = np.array([numbers.get(name, -1) for name in rows.column("type").to_pylist()])
    yield from _bad(types, rows.column(RECORD).to_numpy())


def _read_loaded(location: GraphLocation, suspects: _BadRecordFiles) -> Iterator[pa.RecordBatch]:
    """Return, once each, the records among the suspects that the load contains."""
    records = read_scratch(location, suspects.keys).column(RECORD).to_numpy()
    named = np.isin(records, read_column(location, suspects.named, RECORD))
    fresh = ~np.isin(records, read_column(location, suspects.known, RECORD))
    bad = records[named & fresh]
    yield from _bad(np.full(len(bad), suspects.t), bad)


def _bad(types: np.ndarray, records: np.ndarray) -> Iterator[pa.RecordBatch]:
    # Deletions have the complement of their type number, and violate no rule.
    kept = types >= 0
    if kept.any():
        arrays = [np.repeat("bad", kept.sum()), types[kept], records[kept]]
        columns = [pa.array(a).cast(each.type) for a, each in zip(arrays, _BAD_SCHEMA, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, schema=_BAD_SCHEMA)


# --- files -------------------------------------------------------------------------------------


def write_violations(directory: str, formatter: ViolationFormatter, found: list[Findings]) -> str:
    """Write all formatted violations to ``violations.parquet``, in no particular order."""
    path = _made(directory) / "violations.parquet"
    files = list(formatter.read_input.violation_files)
    files += [file.key for findings in found for file in findings.stored.files]
    with pq.ParquetWriter(path, VIOLATIONS) as writer:
        for violation in formatter.read_input.file_errors:
            writer.write_table(_table([violation]))
        for key in files:
            rows = read_scratch(formatter.location, key)
            for start in range(0, rows.num_rows, _ROWS_AT_ONCE):
                part = rows.slice(start, _ROWS_AT_ONCE).to_pylist()
                writer.write_table(_table([formatter.violation(row) for row in part]))
    return str(path)


def write_bad_records(directory: str, change: LoadChange) -> None:
    """Write quarantined rows to ``<type>.parquet``; an unreadable record is not a row."""
    location, read_input = change.context.location, change.read_input
    for entity in change.entities:
        number = change.number(entity)
        writer = None
        for chunk, part in read_input.rows(entity.id):
            bad = read_column(location, change.rejected.keys_of(number, chunk), RECORD)
            if not len(bad):
                continue
            records = read_scratch(location, part.keys).column(RECORD).to_numpy()
            rows = read_scratch(location, part.rows or "").filter(pa.array(np.isin(records, bad)))
            if UNNAMED in rows.column_names:
                rows = rows.drop([UNNAMED])
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
            "value": encode_value(found.value),
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
