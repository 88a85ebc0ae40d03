"""Findings: rule violations of a distributed load, one row each, before formatting."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.frozen import frozen
from omnigraph.integrity.violations import VIOLATIONS_SHOWN_MAX
from omnigraph.pipeline.scratch.job_context import ScratchFile, StoredRows
from omnigraph.pipeline.scratch.row_chunks import RECORD, read_scratch, write_scratch
from omnigraph.pipeline.spark.tasks import decode_result, encode_result, map_tasks
from omnigraph.runtime.ids import new_short_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from omnigraph.pipeline.scratch.job_context import JobContext
    from omnigraph.pipeline.spark.graph_location import GraphLocation

__all__ = [
    "FINDINGS_DDL",
    "RULES",
    "Findings",
    "collect_findings",
    "existing_id_findings",
    "finding_rows",
    "input_order",
    "read_by_type",
]

# The rule that each kind of finding violates.
RULES = {
    "required": "required",
    "repeat": "key",
    "exists": "key",
    "duplicate": "unique",
    "holder": "unique",
    "missing": "endpoint",
    "lost": "endpoint",
    "count": "cardinality",
}

# The ids of loaded entities are not stored: the record identifies them.
FINDINGS_DDL = (
    "kind string, t int, property string, id string, value string, other string, "
    "number bigint, record bigint"
)
_SCHEMA = pa.schema(
    [
        ("kind", pa.string()),
        ("t", pa.int32()),
        ("property", pa.string()),
        ("id", pa.string()),
        ("value", pa.string()),
        ("other", pa.string()),
        ("number", pa.int64()),
        (RECORD, pa.int64()),
    ]
)
_LAST = 2**63 - 1


@frozen
class Findings:
    """The number of findings of each kind, the first ones, and files with all of them."""

    counts: Counter[str] = field(default_factory=Counter)
    shown: tuple[dict[str, Any], ...] = ()
    stored: StoredRows = field(default_factory=StoredRows)

    def of(self, *kinds: str) -> Findings:
        """Return the findings of some kinds."""
        return Findings(
            Counter({kind: count for kind, count in self.counts.items() if kind in kinds}),
            tuple(row for row in self.shown if row["kind"] in kinds),
            StoredRows(tuple(file for file in self.stored.files if file.what in kinds)),
        )

    def __add__(self, other: Findings) -> Findings:
        return Findings(
            self.counts + other.counts,
            self.shown + other.shown,
            StoredRows(self.stored.files + other.stored.files),
        )


def collect_findings(context: JobContext, frame: DataFrame) -> Findings:
    """Run the job that computes a frame of findings."""
    work = partial(_condense, context.location, context.scratch())
    found = Findings()
    for result in decode_result(frame.mapInArrow(work, "result string")):
        files = tuple(ScratchFile(*file) for file in result["files"])
        counts = Counter({file.what: 0 for file in files})
        for file in files:
            counts[file.what] += file.rows
        found += Findings(counts, tuple(result["shown"]), StoredRows(files))
    return found


def existing_id_findings(context: JobContext, located: StoredRows) -> Findings:
    """Return a finding for every row whose id exists already."""
    if not located.rows:
        return Findings()
    keys = [file.key for file in located.files]
    return collect_findings(
        context,
        map_tasks(context.spark, keys, partial(_read_located, context.location), FINDINGS_DDL),
    )


def input_order(row: dict[str, Any]) -> int:
    """Return the position of a finding in the input; last, if it refers to no record."""
    return _LAST if row[RECORD] is None else int(row[RECORD])


# --- on executors ------------------------------------------------------------------------------


def finding_rows(kind: str, t: int, count: int, **columns: Any) -> Iterator[pa.RecordBatch]:
    """Build findings of one kind and type; a column may be one value for all."""
    if not count:
        return
    columns |= {"kind": kind, "t": t}
    arrays = []
    for wanted in _SCHEMA:
        found = columns.get(wanted.name)
        if not isinstance(found, pa.Array | pa.ChunkedArray):
            found = pa.repeat(pa.scalar(found, wanted.type), count)
        arrays.append(found.cast(wanted.type))
    yield from pa.Table.from_arrays(arrays, schema=_SCHEMA).combine_chunks().to_batches()


def read_by_type(location: GraphLocation, key: str) -> Iterator[tuple[int, pa.Table]]:
    """Read a scratch file in parts of one type each."""
    rows = read_scratch(location, key)
    for t in pc.unique(rows.column("t")).to_pylist():
        yield t, rows.filter(pc.equal(rows.column("t"), t))


def _read_located(location: GraphLocation, key: str) -> Iterator[pa.RecordBatch]:
    for t, found in read_by_type(location, key):
        columns = {"id": found.column("id"), RECORD: found.column(RECORD)}
        yield from finding_rows("exists", t, found.num_rows, **columns)


def _condense(
    location: GraphLocation, prefix: str, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    found = [batch for batch in batches if batch.num_rows]
    if not found:
        return
    rows = pa.Table.from_batches(found)
    shown = _first(rows).to_pylist()
    files = []
    for group in rows.group_by(["kind", "t"]).aggregate([]).to_pylist():
        of_kind = pc.and_(
            pc.equal(rows.column("kind"), group["kind"]), pc.equal(rows.column("t"), group["t"])
        )
        part, key = rows.filter(of_kind), f"{prefix}.{new_short_id()}"
        write_scratch(location, key, part)
        files.append((key, part.num_rows, group["kind"], group["t"]))
    yield encode_result({"files": files, "shown": shown})


def _first(rows: pa.Table) -> pa.Table:
    order = pc.sort_indices(rows.column(RECORD).fill_null(_LAST))
    return rows.take(order.slice(0, VIOLATIONS_SHOWN_MAX))
