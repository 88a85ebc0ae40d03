"""Every id once: which of several records about the same entity counts."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.api.writes import Mode
from omnigraph.catalog.model import ID
from omnigraph.frozen import frozen
from omnigraph.integrity.keys import drop_superseded, repeated, settle_repeats
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
    """What the input says of one type."""

    entity: EntityType
    # In the columns of the type's table; with ``UNNAMED`` where a row does not name everything.
    rows: pa.Table
    records: np.ndarray
    # Ids that go; none of them is among those of the rows.
    deletes: pa.Array
    # Every id is a fresh one.
    minted: bool
    # Records that a later one made void.
    superseded: int
    # Where a value comes from an earlier record, by column.
    inherited: Mapping[str, np.ndarray] = field(default_factory=dict)


def deduplicate(
    entity: EntityType, gathered: CollectedInput, mode: Mode, report: Report
) -> Deduplicated:
    """One row per id. In ``merge`` the last record about an id counts, and inherits what it does
    not name from the earlier ones; otherwise a second record is a violation."""
    read, numbers, minted = _in_order(*gathered.rows(entity))
    if UNNAMED in read.column_names and (minted or mode is not Mode.MERGE):
        read = read.drop([UNNAMED])
    rows, records, superseded = read, numbers, 0
    if not minted:
        rows, records, superseded = settle_repeats(entity, rows, records, mode, report)
    deletes, deleting = gathered.deleted(entity)
    if not len(deletes):
        settled = Deduplicated(entity, rows, records, _NO_IDS, minted, superseded)
        return _fold(settled, read, numbers, np.full(rows.num_rows, -1, np.int64))
    earlier, _ = repeated(pa.table({ID.column: deletes}))
    last = np.ones(len(deletes), dtype=bool)
    last[earlier] = False
    ids, deleting = deletes.combine_chunks().filter(pa.array(last)), deleting[last]
    # Which record is the later one, where an id is written and deleted.
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
    settled = Deduplicated(
        entity,
        rows,
        records,
        ids.filter(pa.array(~rewritten)),
        minted,
        superseded + len(earlier) + int(both.sum()),
    )
    return _fold(settled, read, numbers, deleted_by[keep])


def _in_order(
    rows: pa.Table,
    records: np.ndarray,
    minted: bool,  # noqa: FBT001 - as they were gathered
) -> tuple[pa.Table, np.ndarray, bool]:
    """Rows in the order of their records: a block groups them by the spelling of their type."""
    if len(records) > 1 and (np.diff(records) < 0).any():
        order = np.argsort(records, kind="stable")
        rows, records = rows.take(pa.array(order)), records[order]
    return rows, records, minted


def _fold(
    settled: Deduplicated, read: pa.Table, records: np.ndarray, deleted_by: np.ndarray
) -> Deduplicated:
    """Rows with what earlier records about the same entities name.

    ``deleted_by`` has the record of a deletion before each row, or -1: such a row is a new entity,
    which inherits nothing from before the deletion.
    """
    rows = settled.rows
    if UNNAMED not in rows.column_names:
        return settled
    inherited: Mapping[str, np.ndarray] = {}
    if rows.num_rows < read.num_rows:
        ids = rows.column(ID.column).combine_chunks()
        owner = pc.index_in(read.column(ID.column), value_set=ids).fill_null(-1).to_numpy()
        counts = owner >= 0
        counts[counts] = (records[counts] < settled.records[owner[counts]]) & (
            records[counts] > deleted_by[owner[counts]]
        )
        rows, inherited = fold_records(
            settled.entity, rows, read.filter(pa.array(counts)), owner[counts]
        )
    anew = deleted_by >= 0
    if anew.any() and UNNAMED in rows.column_names:
        masks = unnamed_masks(settled.entity, rows)
        masks = {name: mask & ~anew for name, mask in masks.items()}
        rows = with_unnamed(settled.entity, rows, masks)
    return replace(settled, rows=rows, inherited=inherited)


_NO_IDS = pa.array([], pa.string())
