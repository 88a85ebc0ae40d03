"""Upserts: an existing row keeps the stored values of properties that a writer does not name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.model import ID
from omnigraph.integrity.lookup import PUSHED_MAX, find_rows, is_among, locate
from omnigraph.integrity.unnamed import UNNAMED, unnamed_masks, with_unnamed
from omnigraph.ports.tables import ROW_ADDRESS, RowSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from omnigraph.catalog.model import EntityType
    from omnigraph.ports.tables import Table

__all__ = ["complete_rows", "find_stored", "fold_records", "inherit", "keep_unnamed", "read_stored"]


def find_stored(
    table: Table, ids: pa.Array | pa.ChunkedArray, columns: Sequence[str] = ()
) -> pa.Table:
    """Return the stored rows with these ids: ``id``, columns, row address; in any order."""
    wanted = [ID.column, *(name for name in columns if name != ID.column)]
    if len(wanted) == 1:
        return locate(table, ids)
    if len(ids) > PUSHED_MAX:
        return read_stored(table, locate(table, ids), wanted)
    likely = pc.unique(ids)
    if len(likely) and table.pin.rows:
        # A membership filter usually proves that a new id is new, without a scan.
        likely = table.might_contain(ID.column, likely)
    return find_rows(table, ID.column, likely, wanted, addresses=True)


def keep_unnamed(
    table: Table, rows: pa.Table, named: Mapping[str, pa.Array | pa.ChunkedArray]
) -> tuple[pa.Table, pa.Table]:
    """Complete partial rows, and locate those that exist (``id`` and row address).

    ``rows`` are whole rows with unique ids and defaults for unnamed properties. ``named`` has a
    mask for each column that some row leaves out; all rows name a column without a mask. For an
    existing id, the stored value replaces an unnamed one.
    """
    stored = find_stored(table, rows.column(ID.column), list(named))
    located = stored.select([ID.column, ROW_ADDRESS])
    if not stored.num_rows or not named:
        return rows, located
    ids = stored.column(ID.column).combine_chunks()
    at = pc.index_in(rows.column(ID.column), value_set=ids).fill_null(-1).to_numpy()
    for name, mask in named.items():
        wanted = np.where(np.asarray(mask), -1, at)
        if (wanted >= 0).any():
            rows = inherit(rows, name, stored.column(name), wanted)
    return rows, located


def complete_rows(
    table: Table, entity: EntityType, rows: pa.Table
) -> tuple[pa.Table, pa.Table | None, dict[str, np.ndarray]]:
    """Complete rows with unique ids; also locate existing ones, and mask kept values per column.

    Rows without a column ``UNNAMED`` are already complete; they are not located.
    """
    if UNNAMED not in rows.column_names:
        return rows, None, {}
    masks = {name: mask for name, mask in unnamed_masks(entity, rows).items() if mask.any()}
    named = {name: pa.array(~mask) for name, mask in masks.items()}
    whole, located = keep_unnamed(table, rows.drop([UNNAMED]), named)
    exists = is_among(whole.column(ID.column), located.column(ID.column))
    found: np.ndarray = exists.to_numpy()
    return whole, located, {name: mask & found for name, mask in masks.items()}


def fold_records(
    entity: EntityType, rows: pa.Table, earlier: pa.Table, owner: np.ndarray
) -> tuple[pa.Table, dict[str, np.ndarray]]:
    """Complete rows with values of earlier records that name the property.

    ``earlier`` are records in input order, and ``owner`` is the position of the row about the same
    entity; both tables have a column ``UNNAMED``. The last record that names a property wins.
    Returns the rows, and a mask of inherited values per column.
    """
    absent, lacking = unnamed_masks(entity, rows), unnamed_masks(entity, earlier)
    inherited: dict[str, np.ndarray] = {}
    for name, mask in absent.items():
        naming = np.flatnonzero(~lacking[name])
        at = np.full(rows.num_rows, -1, np.int64)
        np.maximum.at(at, owner[naming], naming)
        at[~mask] = -1
        if (at >= 0).any():
            rows = inherit(rows, name, earlier.column(name), at)
            inherited[name] = at >= 0
            absent[name] = mask & (at < 0)
    return with_unnamed(entity, rows, absent), inherited


def inherit(rows: pa.Table, name: str, values: pa.ChunkedArray, at: np.ndarray) -> pa.Table:
    """Replace a column by values at positions ``at``; negative positions keep the row's value."""
    place = rows.schema.get_field_index(name)
    field = rows.schema.field(place)
    takes = at >= 0
    taken = values.take(pa.array(at, mask=~takes)).cast(field.type)
    column = pc.if_else(pa.array(takes), taken, rows.column(name))
    return rows.set_column(place, field, column)


def read_stored(table: Table, located: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Read rows by address: a scan of all columns by id would read the whole table."""
    fields = [table.schema.field(name) for name in columns]
    schema = pa.schema([*fields, pa.field(ROW_ADDRESS, pa.uint64())])
    addresses = np.sort(located.column(ROW_ADDRESS).to_numpy())
    batches: Iterable[pa.RecordBatch] = (
        table.read(RowSet(len(addresses), (), addresses), columns) if len(addresses) else ()
    )
    read = [pa.Table.from_batches([batch]).select(schema.names).cast(schema) for batch in batches]
    return pa.concat_tables([schema.empty_table(), *read])
