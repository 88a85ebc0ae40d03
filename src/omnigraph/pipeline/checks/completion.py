"""Completion of upserted rows: a value that a record does not name is inherited.

It comes from the last earlier record about the same entity that names it, then from the stored row.
This is ``loading.deduplicate`` and ``integrity.upsert`` over chunks; tests/pipeline compares both.
Each task rewrites one chunk, so that later steps read whole rows.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.model import ID
from omnigraph.frozen import frozen
from omnigraph.integrity.rules import Required, rules_of
from omnigraph.integrity.unnamed import UNNAMED, all_named, unnamed_masks
from omnigraph.integrity.upsert import fold_records, inherit, read_stored
from omnigraph.pipeline.checks.findings import (
    FINDINGS_DDL,
    Findings,
    collect_findings,
    finding_rows,
)
from omnigraph.pipeline.scratch.row_chunks import (
    LINE,
    PLACE_BITS,
    RECORD,
    TypeChunk,
    key_table,
    read_column,
    read_scratch,
    write_scratch,
)
from omnigraph.pipeline.spark.tasks import map_tasks, run_tasks
from omnigraph.ports.tables import ROW_ADDRESS
from omnigraph.runtime.ids import new_short_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from omnigraph.catalog.model import EntityType, Property, TypeId
    from omnigraph.pipeline.checks.load_change import LoadChange
    from omnigraph.pipeline.spark.graph_location import GraphLocation
    from omnigraph.ports.tables import Pin

__all__ = ["Completion", "complete_chunks"]


@frozen
class Completion:
    """The chunks that were completed, and the rows that lack a required value."""

    chunks: Mapping[tuple[int, TypeId], TypeChunk]
    findings: Findings


@frozen
class _PartialChunk:
    """One chunk to complete, with the files that relate its records to others."""

    number: int
    entity: EntityType
    t: int
    chunk: TypeChunk
    pin: Pin
    excluded: tuple[str, ...]
    located: tuple[str, ...]
    # Earlier records about the same entities as later ones: rows, and deletions.
    repeats: tuple[str, ...]
    deletions: tuple[str, ...]
    # All chunks of the type: an earlier record may be in any of them.
    chunks: tuple[tuple[int, TypeChunk], ...]


def complete_chunks(change: LoadChange) -> Completion:
    """Rewrite the chunks whose rows do not name every property."""
    work = [
        part
        for entity in change.entities
        for part in _partial_chunks(change, entity)
        if part.chunk.lacks_required or part.located or part.repeats or part.deletions
    ]
    if not work:
        return Completion({}, Findings())
    context = change.context
    complete = partial(_complete, context.location, context.scratch())
    chunks, lacking = {}, []
    for result in run_tasks(context.spark, work, complete):
        chunk = TypeChunk.from_json(result["chunk"])
        chunks[result["number"], chunk.type_id] = chunk
        lacking += result["lacking"]
    if not lacking:
        return Completion(chunks, Findings())
    frame = map_tasks(
        context.spark, lacking, partial(_read_lacking, context.location), FINDINGS_DDL
    )
    return Completion(chunks, collect_findings(context, frame))


def _partial_chunks(change: LoadChange, entity: EntityType) -> Iterator[_PartialChunk]:
    t = change.number(entity)
    chunks = tuple(change.read_input.rows(entity.id))
    repeats, deletions = (
        tuple(file.key for file in change.repeats.of(number).files) for number in (t, ~t)
    )
    for number, chunk in chunks:
        if chunk.is_partial:
            yield _PartialChunk(
                number,
                entity,
                t,
                chunk,
                change.snapshot.manifest.pins[entity.id],
                change.excluded(t, number),
                change.located.keys_of(t, number),
                repeats,
                deletions,
                chunks,
            )


# --- on executors: one chunk at a time -----------------------------------------------------------


def _complete(location: GraphLocation, prefix: str, part: _PartialChunk) -> dict[str, Any]:
    rows, keys = (
        read_scratch(location, part.chunk.rows or ""),
        read_scratch(location, part.chunk.keys),
    )
    records = keys.column(RECORD).to_numpy()
    effective = ~np.isin(records, read_column(location, part.excluded, RECORD))
    positions = np.flatnonzero(effective)
    whole, lacking = _complete_rows(
        location, part, rows.filter(pa.array(effective)), records[effective]
    )
    rows = _merge(rows.drop([UNNAMED]), whole, positions)
    places = [name for name in (RECORD, LINE) if name in keys.column_names]
    completed = key_table(part.entity, rows)
    for name in places:
        completed = completed.append_column(name, keys.column(name))
    name = f"{prefix}.{part.number}.{part.entity.id}.{new_short_id()}"
    write_scratch(location, f"{name}.keys", completed)
    write_scratch(location, f"{name}.rows", rows)
    chunk = replace(
        part.chunk,
        keys=f"{name}.keys",
        rows=f"{name}.rows",
        size=rows.nbytes,
        is_partial=False,
        lacks_required=False,
    )
    files = []
    if lacking.num_rows:
        files.append(f"{name}.lacking")
        write_scratch(location, files[0], lacking)
    return {"number": part.number, "chunk": chunk.to_json(), "lacking": files}


def _complete_rows(
    location: GraphLocation, part: _PartialChunk, rows: pa.Table, records: np.ndarray
) -> tuple[pa.Table, pa.Table]:
    """Complete the effective rows of a chunk, and list required values that are still missing."""
    deleted_by = _last_deletions(location, part, records)
    earlier, owner = _earlier_records(location, part, records, deleted_by)
    if len(owner):
        rows, _ = fold_records(part.entity, rows, earlier, owner)
    absent = unnamed_masks(part.entity, rows)
    # A row after a deletion of its id is a new entity.
    anew = deleted_by >= 0
    from_store = {name: mask & ~anew for name, mask in absent.items() if (mask & ~anew).any()}
    rows = rows.drop([UNNAMED]) if UNNAMED in rows.column_names else rows
    kept = np.zeros(len(records), dtype=bool)
    if from_store and part.located:
        rows, kept = _inherit_stored(location, part, rows, from_store)
    lacking = [
        finding
        for prop in _required(part.entity)
        if prop.column in absent
        for finding in _lacking(part.t, prop, rows, records, absent[prop.column] & ~(kept & ~anew))
    ]
    return rows, pa.Table.from_batches(lacking) if lacking else _NOTHING


def _required(entity: EntityType) -> list[Property]:
    return [rule.prop for rule in rules_of(entity) if isinstance(rule, Required)]


def _lacking(
    t: int, prop: Property, rows: pa.Table, records: np.ndarray, absent: np.ndarray
) -> Iterator[pa.RecordBatch]:
    missing = rows.column(prop.column).is_null().to_numpy() & absent
    at = pa.array(np.flatnonzero(missing))
    ids = rows.column(ID.column).take(at)
    yield from finding_rows(
        "required", t, len(at), property=prop.name, id=ids, record=pa.array(records).take(at)
    )


def _inherit_stored(
    location: GraphLocation, part: _PartialChunk, rows: pa.Table, absent: Mapping[str, np.ndarray]
) -> tuple[pa.Table, np.ndarray]:
    """Give rows the stored values that they do not name; also which rows exist."""
    addresses = read_column(location, part.located, "address").astype(np.uint64)
    located = pa.table({ROW_ADDRESS: addresses})
    names = list(dict.fromkeys([ID.column, *absent]))
    stored = read_stored(location.tables.open(part.pin), located, names)
    ids = stored.column(ID.column).combine_chunks()
    at = pc.index_in(rows.column(ID.column), value_set=ids).fill_null(-1).to_numpy()
    for name, mask in absent.items():
        wanted = np.where(mask, at, -1)
        if (wanted >= 0).any():
            rows = inherit(rows, name, stored.column(name), wanted)
    return rows, at >= 0


def _earlier_records(
    location: GraphLocation, part: _PartialChunk, records: np.ndarray, deleted_by: np.ndarray
) -> tuple[pa.Table | None, np.ndarray]:
    """The superseded rows about the entities of a chunk, in the order of the input, and the
    position of the row that supersedes each; those before a deletion of the entity do not count."""
    superseded, owner = _repeats(location, part.repeats, records)
    counts = superseded > deleted_by[owner]
    superseded, owner = superseded[counts], owner[counts]
    if not len(owner):
        return None, owner
    chunks = dict(part.chunks)
    tables, found = [], []
    for number in np.unique(superseded >> PLACE_BITS).tolist():
        chunk = chunks[number]
        here = read_scratch(location, chunk.keys).column(RECORD).to_numpy()
        wanted = np.isin(here, superseded)
        rows = read_scratch(location, chunk.rows or "")
        if UNNAMED not in rows.column_names:
            rows = rows.append_column(UNNAMED, all_named(part.entity, rows.num_rows))
        tables.append(rows.filter(pa.array(wanted)))
        found.append(here[wanted])
    read = np.concatenate(found)
    order = np.argsort(read, kind="stable")
    by_record = np.argsort(superseded, kind="stable")
    return pa.concat_tables(tables).take(pa.array(order)), owner[by_record]


def _last_deletions(
    location: GraphLocation, part: _PartialChunk, records: np.ndarray
) -> np.ndarray:
    """The last deletion of the entity of each row before it, or -1."""
    deleted_by = np.full(len(records), -1, np.int64)
    deletions, owner = _repeats(location, part.deletions, records)
    np.maximum.at(deleted_by, owner, deletions)
    return deleted_by


def _repeats(
    location: GraphLocation, files: tuple[str, ...], records: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The superseded records whose last record is one of ``records``, and the position of it."""
    found = [read_scratch(location, file) for file in files]
    if not found or not len(records):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    table = pa.concat_tables(found)
    last = table.column("last").to_numpy()
    order = np.argsort(records)
    at = np.minimum(np.searchsorted(records[order], last), len(records) - 1)
    matches = records[order][at] == last
    return table.column(RECORD).to_numpy()[matches], order[at[matches]]


def _merge(rows: pa.Table, whole: pa.Table, positions: np.ndarray) -> pa.Table:
    """Rows with those at ``positions`` replaced."""
    at = np.arange(rows.num_rows)
    at[positions] = rows.num_rows + np.arange(len(positions))
    return pa.concat_tables([rows, whole.select(rows.column_names)]).take(pa.array(at))


def _read_lacking(location: GraphLocation, key: str) -> Iterator[pa.RecordBatch]:
    yield from read_scratch(location, key).combine_chunks().to_batches()


_NOTHING = pa.table({})
