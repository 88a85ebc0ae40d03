"""Finding what the branch already holds: by sets, never row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.model import ID
from omnigraph.ports.tables import ROW_ADDRESS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.ports.tables import Table

__all__ = ["PUSHED_MAX", "comparable", "find_rows", "is_among", "locate", "without"]

# Up to here a lookup by value is pushed down, where an index can answer it; beyond, one scan of the
# column and one hash probe are cheaper (measured: the crossover of a BTREE lies at about a
# thousand).
PUSHED_MAX = 1_000

# What ``locate`` says of ids that nobody has.
_NOWHERE = pa.schema(
    [pa.field(ID.column, pa.string(), nullable=False), (ROW_ADDRESS, pa.uint64())]
).empty_table()


def find_rows(
    table: Table,
    column: str,
    values: pa.Array | pa.ChunkedArray,
    columns: Sequence[str],
    *,
    addresses: bool = False,
) -> pa.Table:
    """The rows whose ``column`` is among ``values``."""
    wanted = pc.unique(comparable(values)).drop_null()
    if not table.pin.rows or not len(wanted):
        return _empty(table, columns, addresses=addresses)
    if len(wanted) <= PUSHED_MAX and not getattr(table, "is_view", False):
        return table.scan(
            columns,
            filter=_among(column, wanted),
            row_addresses=addresses,
        )
    needed = list(columns) if column in columns else [*columns, column]
    rows = table.scan(needed, row_addresses=addresses)
    return rows.filter(is_among(comparable(rows.column(column)), wanted))


def comparable(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The values as a hash tells them apart: both zeros are one value."""
    return pc.add(values, 0.0) if pa.types.is_floating(values.type) else values


def _among(column: str, wanted: pa.Array) -> Any:
    if pa.types.is_unsigned_integer(wanted.type):
        # The structured form of a filter knows no unsigned numbers.
        return f"`{column}` IN ({', '.join(map(str, wanted.to_pylist()))})"
    return pc.field(column).isin(wanted)


def locate(table: Table, ids: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Which of the ids exist, and where: ``id``, row address."""
    if 0 < len(ids) <= PUSHED_MAX and table.pin.rows:
        # Most ids of most writes are new, and that is often known without a look.
        ids = table.might_contain(ID.column, pc.unique(ids))
        if not len(ids):
            return _NOWHERE
    found = find_rows(table, ID.column, ids, [ID.column], addresses=True)
    return found.select([ID.column, ROW_ADDRESS])


def is_among(
    values: pa.Array | pa.ChunkedArray, wanted: pa.Array | pa.ChunkedArray
) -> pa.Array | pa.ChunkedArray:
    """A mask; NULL is never among anything."""
    if isinstance(wanted, pa.ChunkedArray):
        wanted = wanted.combine_chunks()
    return pc.is_in(values, value_set=wanted, skip_nulls=True)


def without(rows: pa.Table, column: str, *gone: pa.Array | pa.ChunkedArray) -> pa.Table:
    """The rows whose ``column`` is in none of the sets."""
    for values in gone:
        if len(values) and rows.num_rows:
            rows = rows.filter(pc.invert(is_among(rows.column(column), values)))
    return rows


def _empty(table: Table, columns: Sequence[str], *, addresses: bool) -> pa.Table:
    fields = [table.schema.field(name) for name in columns]
    if addresses:
        fields.append(pa.field(ROW_ADDRESS, pa.uint64()))
    return pa.schema(fields).empty_table()
