"""Parsed input: typed rows, ids to delete, and violations of records."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from omnigraph.changeset.rows import default_value
from omnigraph.datatypes.arrow import table_schema
from omnigraph.errors import LimitExceeded
from omnigraph.frozen import frozen
from omnigraph.integrity.unnamed import (
    UNNAMED,
    all_named,
    pack_unnamed,
    unnamed_masks,
    unnamed_type,
)
from omnigraph.integrity.violations import Report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from omnigraph.catalog.model import EntityType, TypeId
    from omnigraph.integrity.violations import Violation

__all__ = [
    "Batch",
    "CollectedInput",
    "Deletions",
    "Parsed",
    "RecordPosition",
    "cut_batches",
    "find_large",
    "record_too_large",
    "too_large",
]


@frozen
class Batch:
    """Rows of one type in the columns of its table.

    ``records`` holds the record of each row: from 0 in a ``Parsed``, from 1 over the whole input
    once it is collected.
    """

    entity: EntityType
    rows: pa.RecordBatch
    records: np.ndarray
    # Every id is generated.
    generated: bool = False
    # The properties that each row leaves out (``integrity.unnamed``); None if it names all.
    unnamed: pa.Array | None = None


@frozen
class Deletions:
    """Entities of one type to delete, by id."""

    entity: EntityType
    ids: pa.Array
    records: np.ndarray


@frozen
class Parsed:
    """A parsed section of the input: the number of its records and their contents.

    Violations count records from 0, as batches do.
    """

    count: int
    batches: tuple[Batch, ...] = ()
    deletions: tuple[Deletions, ...] = ()
    violations: tuple[Violation, ...] = ()
    # The line of each record within its file; None if each record takes one line.
    lines: np.ndarray | None = None


@frozen
class RecordPosition:
    """The position where a section of the input begins.

    ``line`` is None if records do not take one line each; ``find`` may then return the line of a
    record of the section, counted from 0."""

    file: str | None = None
    line: int | None = None
    find: Callable[[int], int | None] | None = None


@dataclass
class _TypeRows:
    """The rows of one type collected so far."""

    batches: list[pa.RecordBatch] = field(default_factory=list)
    records: list[np.ndarray] = field(default_factory=list)
    unnamed: list[pa.Array | None] = field(default_factory=list)
    generated: bool = True


class CollectedInput:
    """The whole parsed input, in memory. Filled once, then read by every prepare."""

    def __init__(self, *, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._rows: dict[TypeId, _TypeRows] = {}
        self._deleted: dict[TypeId, list[Deletions]] = {}
        self._starts: list[int] = []
        self._places: list[tuple[RecordPosition, np.ndarray | None]] = []
        self.entities: dict[TypeId, EntityType] = {}
        self.report = Report()
        self.count = 0
        self.bytes = 0

    def name(self, entity: EntityType) -> None:
        """Register a type that the input names, with or without records."""
        self.entities[entity.id] = entity

    def add(self, parsed: Parsed, place: RecordPosition = RecordPosition()) -> None:  # noqa: B008 - it is immutable
        """Append the next parsed section."""
        first = self.count + 1
        self._starts.append(first)
        self._places.append((place, parsed.lines))
        for batch in parsed.batches:
            self._add_rows(batch, first)
        for deletions in parsed.deletions:
            self.name(deletions.entity)
            moved = Deletions(deletions.entity, deletions.ids, deletions.records + first)
            self._deleted.setdefault(deletions.entity.id, []).append(moved)
            self.bytes += deletions.ids.nbytes
        self._report(parsed.violations, first)
        self.count += parsed.count
        if self.bytes > self._bytes_max:
            raise too_large(self._bytes_max)

    def rows(self, entity: EntityType) -> tuple[pa.Table, np.ndarray, bool]:
        """Return all rows of a type, the record of each, and whether all ids are generated.

        Rows that leave out a property come with a column ``UNNAMED``.
        """
        schema = table_schema(entity)
        found = self._rows.get(entity.id, _TypeRows())
        records = np.concatenate(found.records) if found.records else np.empty(0, np.int64)
        rows = pa.Table.from_batches(found.batches, schema)
        if any(bits is not None for bits in found.unnamed):
            bits = [
                all_named(entity, batch.num_rows) if given is None else given
                for batch, given in zip(found.batches, found.unnamed, strict=True)
            ]
            rows = rows.append_column(UNNAMED, pa.chunked_array(bits, unnamed_type(entity)))
        return rows, records, found.generated

    def widen(self, entity: EntityType) -> None:
        """Complete rows that were read with a subset of a type's properties.

        The other properties get their defaults and count as unnamed."""
        part = self.entities[entity.id]
        self.entities[entity.id] = entity
        found = self._rows.get(entity.id, _TypeRows())
        found.unnamed = [
            _widened_bits(part, entity, batch.num_rows, bits)
            for batch, bits in zip(found.batches, found.unnamed, strict=True)
        ]
        found.batches = [_widened(entity, batch) for batch in found.batches]

    def deleted(self, entity: EntityType) -> tuple[pa.ChunkedArray, np.ndarray]:
        """Return the ids of a type to delete, and the record of each."""
        found = self._deleted.get(entity.id, [])
        ids = pa.chunked_array([item.ids for item in found], pa.string())
        records = [item.records for item in found]
        return ids, np.concatenate(records) if records else np.empty(0, np.int64)

    def location_of(self, record: int) -> tuple[str | None, int | None]:
        """Return the file and the line of a record."""
        at = bisect_right(self._starts, record) - 1
        if at < 0:
            return None, None
        place, lines = self._places[at]
        offset = record - self._starts[at]
        if lines is not None and offset < len(lines):
            return place.file, int(lines[offset])
        if place.line is not None:
            return place.file, place.line + offset
        return place.file, place.find(offset) if place.find is not None else None

    def _add_rows(self, batch: Batch, first: int) -> None:
        self.name(batch.entity)
        found = self._rows.setdefault(batch.entity.id, _TypeRows())
        found.batches.append(batch.rows)
        found.records.append(batch.records + first)
        found.unnamed.append(batch.unnamed)
        found.generated &= batch.generated
        self.bytes += batch.rows.nbytes + batch.records.nbytes
        self.bytes += 0 if batch.unnamed is None else batch.unnamed.nbytes

    def _report(self, violations: Iterable[Violation], first: int) -> None:
        for violation in violations:
            self.report.add(
                violation
                if violation.record is None
                else replace(violation, record=violation.record + first)
            )


def _widened(entity: EntityType, rows: pa.RecordBatch) -> pa.RecordBatch:
    defaults = {prop.column: default_value(prop) for prop in entity.properties}
    schema = table_schema(entity)
    arrays = [
        rows.column(field.name)
        if field.name in rows.schema.names
        else pa.array([defaults[field.name]] * rows.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _widened_bits(
    part: EntityType, entity: EntityType, count: int, bits: pa.Array | None
) -> pa.Array | None:
    bits = all_named(part, count) if bits is None else bits
    masks = unnamed_masks(part, pa.table({UNNAMED: bits}))
    hidden = np.ones(count, dtype=bool)
    columns = [masks.get(prop.column, hidden) for prop in entity.properties]
    return pack_unnamed(entity, np.stack(columns, axis=1))


def cut_batches(
    entity: EntityType,
    rows: pa.Table,
    records: np.ndarray,
    *,
    generated: bool,
    unnamed: pa.Array | None = None,
) -> Iterator[Batch]:
    """Split rows into batches: a column with more text than one array holds has several chunks."""
    start = 0
    for batch in rows.to_batches():
        end = start + batch.num_rows
        bits = None if unnamed is None else unnamed.slice(start, batch.num_rows)
        yield Batch(entity, batch, records[start:end], generated, bits)
        start = end


def find_large(rows: pa.RecordBatch, limit: int) -> int | None:
    """Find the first row above a size by bisection."""
    if rows.nbytes <= limit:
        return None
    if rows.num_rows == 1:
        return 0
    half = rows.num_rows // 2
    found = find_large(rows.slice(0, half), limit)
    if found is None:
        found = find_large(rows.slice(half), limit)
        return None if found is None else half + found
    return found


def record_too_large(
    limit: int, record: int, name: str | None = None, line: int | None = None
) -> LimitExceeded:
    """Build the error for a record above the limit."""
    place = f" ({name + ', ' if name else ''}line {line})" if line is not None else ""
    found: dict[str, Any] = {} if line is None else {"line": line}
    return LimitExceeded(
        "load.record_too_large",
        f"record {record}{place} is larger than {limit} bytes; nothing was written",
        remedy="write one record per line; keep large values in files of their own",
        details={
            "resource_limit": {"name": "record_bytes", "limit": limit},
            "record": record,
            **found,
        },
    )


def too_large(limit: int) -> LimitExceeded:
    """Build the error for an input that does not fit in memory."""
    return LimitExceeded(
        "load.too_large",
        f"the input takes more than {limit} bytes in memory; nothing was written",
        remedy="load it with the Spark engine (--engine spark), or in chunks, each its own commit",
        details={"resource_limit": {"name": "load_bytes", "limit": limit}},
    )
