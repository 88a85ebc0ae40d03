"""The state of ours for each entity that theirs changed.

The state is the address of the row in ours, and whether ours changed it as well. Usually it did
not, and the files show it: a row at the same place as in the base is unchanged. Only the other rows
are looked up and compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.api.changes import ChangeOp
from omnigraph.catalog.model import ID
from omnigraph.changes.compare import Images
from omnigraph.changes.row_digests import digest_rows
from omnigraph.frozen import frozen
from omnigraph.integrity.lookup import is_among, locate
from omnigraph.ports.tables import ROW_ADDRESS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.changes.compare import Differences, Side
    from omnigraph.ports.tables import RowSet, TableStore

__all__ = ["EntityStates", "find_entity_states"]

_FRAGMENT_SHIFT = np.uint64(32)
# Below so many rows written by ours, their ids are scanned; above, an index lookup is cheaper.
_LISTED_MAX = 100_000


@frozen
class EntityStates:
    """Arrays parallel to the differences between base and theirs."""

    # The row's address in ours, if it is present.
    at: np.ndarray
    present: np.ndarray
    # Whether ours differs from the base.
    touched: np.ndarray


def find_entity_states(
    tables: TableStore, changed: Differences, base: Side | None, ours: Side | None
) -> EntityStates:
    """Determine the state of ours for each entity that theirs changed."""
    existed = changed.ops != ChangeOp.INSERT
    nowhere = np.zeros(len(changed), dtype=bool)
    if ours is None or not len(changed):
        return EntityStates(changed.before_at, nowhere, existed)
    if base is None:
        return _search(changed, ours, None, ~nowhere)
    if ours.table.pin == base.table.pin:
        return EntityStates(changed.before_at, existed, nowhere)
    left, written = tables.differing_rows(base.table.pin, ours.table.pin)
    moved = ~existed | _is_in(changed.before_at, left)
    return _search(changed, ours, written, moved)


def _search(
    changed: Differences, ours: Side, written: RowSet | None, moved: np.ndarray
) -> EntityStates:
    """Look up the moved entities by id and compare them with the base."""
    at, present = changed.before_at.copy(), ~moved
    if moved.any():
        wanted = changed.ids.take(pa.array(np.flatnonzero(moved)))
        found = _find_ids(ours, written, wanted)
        partner = pc.index_in(changed.ids, value_set=found.column(ID.column).combine_chunks())
        here = partner.is_valid().to_numpy(zero_copy_only=False) & moved
        at[here] = found.column(ROW_ADDRESS).to_numpy()[partner.fill_null(0).to_numpy()[here]]
        present |= here
    existed = changed.ops != ChangeOp.INSERT
    touched = moved & (existed != present)
    both = np.flatnonzero(moved & existed & present)
    if len(both) and changed.before is not None:
        before = changed.before.at(changed.before_at[both])
        after = Images(ours).at(at[both])
        columns = changed.before.side.columns
        touched[both] = (_digests(before, columns) != _digests(after, ours.columns)).any(axis=1)
    inserted_twice = moved & ~existed & present
    return EntityStates(at, present, touched | inserted_twice)


def _find_ids(ours: Side, written: RowSet | None, wanted: pa.Array) -> pa.Table:
    """Return the ids that ours has written, with their addresses."""
    if written is None or written.count > _LISTED_MAX:
        return locate(ours.table, wanted)
    batches = [
        batch.filter(is_among(batch.column(ID.column), wanted))
        for batch in ours.table.read(written, [ID.column])
    ]
    schema = pa.schema([(ID.column, pa.string()), (ROW_ADDRESS, pa.uint64())])
    columns = [
        pa.chunked_array([batch.column(field.name) for batch in batches], field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _is_in(addresses: np.ndarray, rows: RowSet) -> np.ndarray:
    whole = np.array(rows.whole, np.uint64)
    return np.isin(addresses >> _FRAGMENT_SHIFT, whole) | np.isin(addresses, rows.addresses)


def _digests(rows: pa.Table, columns: Mapping[str, str]) -> np.ndarray:
    joined = rows.combine_chunks()
    return digest_rows(
        {prop: _one(joined.column(name)) for prop, name in columns.items()}, rows.num_rows
    )


def _one(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else column.combine_chunks()
