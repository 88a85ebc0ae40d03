"""Every id once: which of several records about the same entity counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.model import ID
from omnigraph.frozen import frozen
from omnigraph.integrity.keys import drop_superseded, repeated, settle_repeats

if TYPE_CHECKING:
    from omnigraph.catalog.model import EntityType
    from omnigraph.integrity.changes import Mode
    from omnigraph.integrity.violations import Report
    from omnigraph.operations.load.batches import Gathered

__all__ = ["Settled", "settle"]


@frozen
class Settled:
    """What the input says of one type."""

    entity: EntityType
    rows: pa.Table
    records: np.ndarray
    # Ids that go; none of them is among those of the rows.
    deletes: pa.Array
    # Every id is a fresh one.
    minted: bool
    # Records that a later one made void.
    superseded: int


def settle(entity: EntityType, gathered: Gathered, mode: Mode, report: Report) -> Settled:
    """The last record about an id counts in ``merge``; otherwise a second one is a violation."""
    rows, records, minted = gathered.rows(entity)
    superseded = 0
    if not minted:
        rows, records, superseded = settle_repeats(entity, rows, records, mode, report)
    deletes, deleting = gathered.deleted(entity)
    if not len(deletes):
        return Settled(entity, rows, records, _NO_IDS, minted, superseded)
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
    rows, records = drop_superseded(entity, rows, records, keep, report)
    return Settled(
        entity,
        rows,
        records,
        ids.filter(pa.array(~rewritten)),
        minted,
        superseded + len(earlier) + int(both.sum()),
    )


_NO_IDS = pa.array([], pa.string())
