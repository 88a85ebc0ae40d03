"""Upserts: an existing row keeps the stored value of every property that a writer does not name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.model import ID
from omnigraph.integrity.lookup import PUSHED_MAX, find_rows, locate
from omnigraph.ports.tables import ROW_ADDRESS, RowSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from omnigraph.ports.tables import Table

__all__ = ["find_stored", "keep_unnamed"]


def find_stored(
    table: Table, ids: pa.Array | pa.ChunkedArray, columns: Sequence[str] = ()
) -> pa.Table:
    """The stored rows with these ids: ``id``, the given columns, row address; in any order."""
    wanted = [ID.column, *(name for name in columns if name != ID.column)]
    if len(wanted) == 1:
        return locate(table, ids)
    if len(ids) > PUSHED_MAX:
        return _read(table, locate(table, ids), wanted)
    likely = pc.unique(ids)
    if len(likely) and table.pin.rows:
        # A new id is usually recognised from memory, without a scan.
        likely = table.may_hold(ID.column, likely)
    return find_rows(table, ID.column, likely, wanted, addresses=True)


def keep_unnamed(
    table: Table, rows: pa.Table, named: Mapping[str, pa.Array | pa.ChunkedArray]
) -> tuple[pa.Table, pa.Table]:
    """Complete partial rows, and locate those that exist (``id`` and row address).

    ``rows`` are whole rows with unique ids, defaults filled in for what was not named. ``named``
    has a mask for each column that some row does not name; a column without a mask is named by all
    rows. Where an id exists, the stored value takes the place of one that was not named.
    """
    stored = find_stored(table, rows.column(ID.column), list(named))
    located = stored.select([ID.column, ROW_ADDRESS])
    if not stored.num_rows or not named:
        return rows, located
    ids = stored.column(ID.column).combine_chunks()
    at = pc.index_in(rows.column(ID.column), value_set=ids)
    exists = pc.is_valid(at)
    for name, mask in named.items():
        keeps = pc.and_(pc.invert(mask), exists)
        if not pc.any(keeps).as_py():
            continue
        place = rows.schema.get_field_index(name)
        field = rows.schema.field(place)
        kept = stored.column(name).take(at).cast(field.type)
        column = pc.if_else(keeps, kept, rows.column(name))
        rows = rows.set_column(place, field, column)
    return rows, located


def _read(table: Table, located: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Rows by address: a scan of all columns by id would read the whole table."""
    fields = [table.schema.field(name) for name in columns]
    schema = pa.schema([*fields, pa.field(ROW_ADDRESS, pa.uint64())])
    addresses = np.sort(located.column(ROW_ADDRESS).to_numpy())
    batches: Iterable[pa.RecordBatch] = (
        table.read(RowSet(len(addresses), (), addresses), columns) if len(addresses) else ()
    )
    read = [pa.Table.from_batches([batch]).select(schema.names).cast(schema) for batch in batches]
    return pa.concat_tables([schema.empty_table(), *read])
