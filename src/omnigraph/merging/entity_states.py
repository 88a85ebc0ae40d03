"""How the entities that theirs changed stand with ours.

For each of them: where ours has it, and whether ours has changed it as well. Mostly ours has not,
and its files tell: a row that lies where it lay in the base is what it was. Only the others are
looked for and compared.
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
# Of so many rows that ours has written the ids are read to find some; beyond, by a lookup.
_LISTED_MAX = 100_000


@frozen
class EntityStates:
    """Per difference between base and theirs, in the same order."""

    # The row's address in ours, where it is present.
    at: np.ndarray
    present: np.ndarray
    # Ours differs from the base.
    touched: np.ndarray


def find_entity_states(
    tables: TableStore, changed: Differences, base: Side | None, ours: Side | None
) -> EntityStates:
    """Where ours has what theirs changed."""
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
    """Find the moved ones by id and hold them against the base."""
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
    """Which of the ids ours has written, and where."""
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
