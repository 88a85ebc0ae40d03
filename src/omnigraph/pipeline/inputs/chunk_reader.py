"""Reading on an executor: from a section of the input to row chunks in scratch files.

Parsing and typing run the same code as a load in process; only the destination of the rows differs.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from omnigraph.api.writes import LoadRequest, Mode
from omnigraph.catalog.model import ID
from omnigraph.integrity.changes import TypeChange
from omnigraph.integrity.columns import check_columns
from omnigraph.integrity.rules import Required, rules_of
from omnigraph.integrity.unnamed import UNNAMED, unnamed_masks
from omnigraph.integrity.violations import VIOLATIONS_SHOWN_MAX, Report, Violation
from omnigraph.loading.batches import CollectedInput, Deletions, Parsed, RecordPosition
from omnigraph.loading.collect import collect
from omnigraph.loading.tables import type_rows
from omnigraph.pipeline.inputs.mapping import AT, BROKEN, DELETE
from omnigraph.pipeline.inputs.splits import open_section
from omnigraph.pipeline.scratch.row_chunks import (
    CHUNK_BITS,
    LINE,
    RECORD,
    SCRATCH,
    RowChunk,
    TypeChunk,
    key_table,
    record_of,
    write_scratch,
)
from omnigraph.pipeline.scratch.violation_rows import violation_table
from omnigraph.runtime.ids import new_short_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.catalog.model import Catalog, EntityType
    from omnigraph.pipeline.inputs.splits import Split
    from omnigraph.pipeline.spark.graph_location import GraphLocation
    from omnigraph.runtime.limits import Limits

__all__ = ["CHUNK_BYTES", "ReadParameters", "read_mapped", "read_rows", "read_split"]

# Bytes of typed rows per chunk; also about the size of a fragment.
CHUNK_BYTES = 64 * 2**20


@dataclass(frozen=True)
class ReadParameters:
    """The parameters that every reading task needs."""

    location: GraphLocation
    job: str
    catalog: Catalog
    mode: Mode
    limits: Limits
    # Whether to compute a digest of the content: for a load with an idempotency key.
    digest: bool = False
    chunk_bytes: int = CHUNK_BYTES
    # Whether this task checks values against the schema; the data source checks them later.
    checks: bool = True


def read_split(reading: ReadParameters, split: Split) -> dict[str, Any]:
    """Read the sections of a split into chunks; return their description."""
    spill = SpillingInput(reading, split.number)
    sections = []
    for section in split.sections:
        source = open_section(section, reading.location.tables)
        request = LoadRequest(
            source,
            reading.mode,
            type=section.type,
            format=section.format if section.parts is None else None,
            idempotency_key="" if reading.digest else None,
        )
        before, file_errors = spill.count, len(spill.report.violations)
        try:
            _, digest = collect(
                request, reading.catalog, reading.limits, tables=reading.location.tables, into=spill
            )
        finally:
            if hasattr(source, "close"):
                source.close()
        for at, wrong in enumerate(spill.report.violations[file_errors:], file_errors):
            spill.report.violations[at] = replace(wrong, file=section.file)
        sections.append(
            {
                "file": section.file,
                "records": spill.count - before,
                "lines": getattr(source, "lines", 0),
                "digest": digest,
            }
        )
    return {"split": split.number, "sections": sections, **spill.finish()}


def read_rows(
    reading: ReadParameters, entity: EntityType, task: int, batches: Iterable[pa.RecordBatch]
) -> dict[str, Any]:
    """Read one partition of a data frame, whose columns are checked already."""
    spill = SpillingInput(reading, task)
    spill.name(entity)
    for batch in batches:
        spill.add(type_rows(entity, batch))
    return {"split": task, "sections": [], **spill.finish()}


def read_mapped(
    reading: ReadParameters, entity: EntityType, task: int, batches: Iterable[pa.RecordBatch]
) -> dict[str, Any]:
    """Read one partition of a mapped source, whose rows may delete or be unreadable."""
    spill = SpillingInput(reading, task)
    spill.name(entity)
    for batch in batches:
        spill.add(_parse_mapped(entity, batch))
    return {"split": task, "sections": [], **spill.finish()}


def _parse_mapped(entity: EntityType, batch: pa.RecordBatch) -> Parsed:
    """Convert a batch to typed rows, deletions and violations; positions stand in for lines."""
    broken = batch.column(BROKEN).is_valid().to_numpy(zero_copy_only=False)
    deleting_rows = batch.column(DELETE).to_numpy(zero_copy_only=False).astype(bool) & ~broken
    cells = pa.RecordBatch.from_arrays(
        [column.cast(pa.binary()) for column in batch.columns[:-3]], names=batch.schema.names[:-3]
    )
    violations = [
        Violation(
            "record",
            "the record cannot be read",
            type=entity.name,
            record=int(at),
            text=batch.column(BROKEN)[int(at)].as_py(),
        )
        for at in np.flatnonzero(broken)
    ]
    kept, deleted = (np.flatnonzero(mask) for mask in (~broken & ~deleting_rows, deleting_rows))
    rows = type_rows(entity, cells.take(pa.array(kept)), text=True)
    ends = type_rows(entity, cells.take(pa.array(deleted)), text=True)
    for found, places in ((rows, kept), (ends, deleted)):
        violations += [
            replace(one, record=int(places[one.record or 0])) for one in found.violations
        ]
    return Parsed(
        batch.num_rows,
        tuple(replace(each, records=kept[each.records]) for each in rows.batches),
        tuple(
            Deletions(entity, each.rows.column(ID.column), deleted[each.records])
            for each in ends.batches
            if each.rows.num_rows
        ),
        tuple(violations),
        batch.column(AT).to_numpy(),
    )


class ChunkBuffer(CollectedInput):
    """A buffer of parsed records; it keeps every violation."""

    def __init__(self) -> None:
        super().__init__(bytes_max=sys.maxsize)
        self.report = Report(limit=sys.maxsize)

    def lines(self) -> np.ndarray | None:
        """Return the line of every record; None for an input without lines."""
        ends = [*self._starts[1:], self.count + 1]
        found = []
        for start, end, (place, lines) in zip(self._starts, ends, self._places, strict=True):
            if lines is not None and len(lines) == end - start:
                found.append(lines)
            elif place.line is not None:
                found.append(np.arange(place.line, place.line + end - start))
            elif end > start:
                return None
        return np.concatenate(found) if found else None


class SpillingInput(CollectedInput):
    """A collector that writes parsed records to scratch files, chunk by chunk."""

    def __init__(self, reading: ReadParameters, task: int) -> None:
        super().__init__(bytes_max=sys.maxsize)
        self._reading = reading
        self._first_number = task << CHUNK_BITS
        # A task may run twice, even concurrently: each attempt has its own file names.
        self._prefix = f"{SCRATCH}/{reading.job}/{new_short_id()}"
        self._buffer = ChunkBuffer()
        self._chunks: list[RowChunk] = []

    def add(self, parsed: Parsed, place: RecordPosition = RecordPosition()) -> None:  # noqa: B008 - it is immutable
        self._buffer.add(parsed, place)
        self.count += parsed.count
        for entity in self._buffer.entities.values():
            self.name(entity)
        if self._buffer.bytes >= self._reading.chunk_bytes:
            self._flush()

    def finish(self) -> dict[str, Any]:
        """Write the remaining records and return the description of all chunks."""
        if self._buffer.count:
            self._flush()
        return {
            "chunks": [chunk.to_json() for chunk in self._chunks],
            "types": list(self.entities),
            # Errors of a whole file, whose records were not parsed.
            "file_errors": [violation.to_json() for violation in self.report.violations],
        }

    def _flush(self) -> None:
        buffer, number = self._buffer, self._first_number + len(self._chunks)
        self._buffer = ChunkBuffer()
        partial = bool(buffer.report)
        lines = buffer.lines()
        types = []
        for entity in buffer.entities.values():
            types += self._write_type(entity, buffer, number, lines)
        buffer.report.locate(buffer.location_of)
        broken = violation_table(buffer.report.violations, number)
        key = None
        if broken.num_rows:
            key = f"{self._prefix}.{number}.violations"
            write_scratch(self._reading.location, key, broken)
        self._chunks.append(
            RowChunk(
                number,
                buffer.count,
                tuple(types),
                key,
                tuple(sorted(buffer.report.counts.items())),
                tuple(broken.slice(0, VIOLATIONS_SHOWN_MAX).to_pylist()),
                partial,
            )
        )

    def _write_type(
        self, entity: EntityType, buffer: ChunkBuffer, number: int, lines: np.ndarray | None
    ) -> list[TypeChunk]:
        location, name = self._reading.location, f"{self._prefix}.{number}.{entity.id}"
        found = []
        rows, records, generated = buffer.rows(entity)
        if UNNAMED in rows.column_names and (generated or self._reading.mode is not Mode.MERGE):
            rows = rows.drop([UNNAMED])
        if rows.num_rows:
            if self._reading.checks:
                change = TypeChange(entity, self._reading.mode, rows, records=records)
                check_columns(change, buffer.report)
            keys = _with_records(key_table(entity, rows), number, records, lines)
            write_scratch(location, f"{name}.keys", keys)
            write_scratch(location, f"{name}.rows", rows)
            found.append(
                TypeChunk(
                    entity.id,
                    f"{name}.keys",
                    rows.num_rows,
                    rows.nbytes,
                    f"{name}.rows",
                    generated,
                    is_partial=UNNAMED in rows.column_names,
                    lacks_required=_lacks_required(entity, rows),
                )
            )
        ids, deleting = buffer.deleted(entity)
        if len(ids):
            deleted = _with_records(pa.table({"id": ids}), number, deleting, lines)
            write_scratch(location, f"{name}.deletes", deleted)
            found.append(TypeChunk(entity.id, f"{name}.deletes", len(ids)))
        return found


def _lacks_required(entity: EntityType, rows: pa.Table) -> bool:
    """Return whether some row does not name a required property and has no default for it."""
    absent = unnamed_masks(entity, rows)
    return any(
        (rows.column(rule.prop.column).is_null().to_numpy() & absent[rule.prop.column]).any()
        for rule in rules_of(entity)
        if isinstance(rule, Required) and rule.prop.column in absent
    )


def _with_records(
    keys: pa.Table, chunk: int, records: np.ndarray, lines: np.ndarray | None
) -> pa.Table:
    """Append record numbers, and lines where known, to keys. ``records`` count from 1."""
    keys = keys.append_column(RECORD, pa.array(record_of(chunk, records - 1)))
    return keys if lines is None else keys.append_column(LINE, pa.array(lines[records - 1]))
