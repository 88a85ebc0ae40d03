"""Deduplication: one effective record per id."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.api.writes import Mode
from omnigraph.catalog.model import ID
from omnigraph.frozen import frozen
from omnigraph.integrity.keys import drop_superseded, remove_repeats, repeated
from omnigraph.integrity.unnamed import UNNAMED, unnamed_masks, with_unnamed
from omnigraph.integrity.upsert import fold_records

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.catalog.model import EntityType
    from omnigraph.integrity.violations import Report
    from omnigraph.loading.batches import CollectedInput

__all__ = ["Deduplicated", "deduplicate"]


@frozen
class Deduplicated:
    """The effective records of one type."""

    entity: EntityType
    # In the columns of the type's table; with ``UNNAMED`` if a row leaves out a property.
    rows: pa.Table
    records: np.ndarray
    # Ids to delete, disjoint from those of the rows.
    deletes: pa.Array
    # Every id is generated.
    generated: bool
    # The number of records that a later one supersedes.
    superseded: int
    # By column, the rows whose value comes from an earlier record.
    inherited: Mapping[str, np.ndarray] = field(default_factory=dict)


def deduplicate(
    entity: EntityType, collected: CollectedInput, mode: Mode, report: Report
) -> Deduplicated:
    """Return one row per id.

    In ``merge`` the last record of an id wins and inherits properties that it leaves out from
    earlier ones; in other modes a second record is a violation."""
    read, numbers, generated = _in_order(*collected.rows(entity))
    if UNNAMED in read.column_names and (generated or mode is not Mode.MERGE):
        read = read.drop([UNNAMED])
    rows, records, superseded = read, numbers, 0
    if not generated:
        rows, records, superseded = remove_repeats(entity, rows, records, mode, report)
    deletes, deleting = collected.deleted(entity)
    if not len(deletes):
        deduplicated = Deduplicated(entity, rows, records, _NO_IDS, generated, superseded)
        return _fold(deduplicated, read, numbers, np.full(rows.num_rows, -1, np.int64))
    earlier, _ = repeated(pa.table({ID.column: deletes}))
    last = np.ones(len(deletes), dtype=bool)
    last[earlier] = False
    ids, deleting = deletes.combine_chunks().filter(pa.array(last)), deleting[last]
    # Where an id is both written and deleted, the later record wins.
    at = pc.index_in(ids, value_set=rows.column(ID.column).combine_chunks())
    both = at.is_valid().to_numpy(zero_copy_only=False)
    written = at.fill_null(0).to_numpy(zero_copy_only=False)
    rewritten = both.copy()
    rewritten[both] = records[written[both]] > deleting[both]
    keep = np.ones(rows.num_rows, dtype=bool)
    keep[written[both & ~rewritten]] = False
    deleted_by = np.full(rows.num_rows, -1, np.int64)
    deleted_by[written[rewritten]] = deleting[rewritten]
    rows, records = drop_superseded(entity, rows, records, keep, report)
    deduplicated = Deduplicated(
        entity,
        rows,
        records,
        ids.filter(pa.array(~rewritten)),
        generated,
        superseded + len(earlier) + int(both.sum()),
    )
    return _fold(deduplicated, read, numbers, deleted_by[keep])


def _in_order(
    rows: pa.Table,
    records: np.ndarray,
    generated: bool,  # noqa: FBT001 - as they were collected
) -> tuple[pa.Table, np.ndarray, bool]:
    """Sort rows by record: a block groups them by the written form of their type."""
    if len(records) > 1 and (np.diff(records) < 0).any():
        order = np.argsort(records, kind="stable")
        rows, records = rows.take(pa.array(order)), records[order]
    return rows, records, generated


def _fold(
    deduplicated: Deduplicated, read: pa.Table, records: np.ndarray, deleted_by: np.ndarray
) -> Deduplicated:
    """Add the properties that earlier records of the same entities name.

    ``deleted_by`` holds the record of a deletion before each row, or -1: a row after a deletion is
    a new entity and inherits nothing from before it.
    """
    rows = deduplicated.rows
    if UNNAMED not in rows.column_names:
        return deduplicated
    inherited: Mapping[str, np.ndarray] = {}
    if rows.num_rows < read.num_rows:
        ids = rows.column(ID.column).combine_chunks()
        owner = pc.index_in(read.column(ID.column), value_set=ids).fill_null(-1).to_numpy()
        counts = owner >= 0
        counts[counts] = (records[counts] < deduplicated.records[owner[counts]]) & (
            records[counts] > deleted_by[owner[counts]]
        )
        rows, inherited = fold_records(
            deduplicated.entity, rows, read.filter(pa.array(counts)), owner[counts]
        )
    anew = deleted_by >= 0
    if anew.any() and UNNAMED in rows.column_names:
        masks = unnamed_masks(deduplicated.entity, rows)
        masks = {name: mask & ~anew for name, mask in masks.items()}
        rows = with_unnamed(deduplicated.entity, rows, masks)
    return replace(deduplicated, rows=rows, inherited=inherited)


_NO_IDS = pa.array([], pa.string())
