"""Set-based lookup of stored rows, never row by row."""

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

# Up to so many values, a lookup is pushed down to an index; above, one column scan and a hash probe
# are cheaper (measured: the crossover of a BTREE is at about a thousand).
PUSHED_MAX = 1_000

# The result of ``locate`` for unknown ids.
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
    """Return the rows whose ``column`` is among ``values``."""
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
    """Normalise values for hashing: both zeros are one value."""
    return pc.add(values, 0.0) if pa.types.is_floating(values.type) else values


def _among(column: str, wanted: pa.Array) -> Any:
    if pa.types.is_unsigned_integer(wanted.type):
        # The structured form of a filter does not support unsigned numbers.
        return f"`{column}` IN ({', '.join(map(str, wanted.to_pylist()))})"
    return pc.field(column).isin(wanted)


def locate(table: Table, ids: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Return the existing ids with their row addresses."""
    if 0 < len(ids) <= PUSHED_MAX and table.pin.rows:
        # Most ids are new, and a membership filter often proves it without a scan.
        ids = table.might_contain(ID.column, pc.unique(ids))
        if not len(ids):
            return _NOWHERE
    found = find_rows(table, ID.column, ids, [ID.column], addresses=True)
    return found.select([ID.column, ROW_ADDRESS])


def is_among(
    values: pa.Array | pa.ChunkedArray, wanted: pa.Array | pa.ChunkedArray
) -> pa.Array | pa.ChunkedArray:
    """Return a membership mask; NULL is never a member."""
    if isinstance(wanted, pa.ChunkedArray):
        wanted = wanted.combine_chunks()
    return pc.is_in(values, value_set=wanted, skip_nulls=True)


def without(rows: pa.Table, column: str, *gone: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Return the rows whose ``column`` is in none of the sets."""
    for values in gone:
        if len(values) and rows.num_rows:
            rows = rows.filter(pc.invert(is_among(rows.column(column), values)))
    return rows


def _empty(table: Table, columns: Sequence[str], *, addresses: bool) -> pa.Table:
    fields = [table.schema.field(name) for name in columns]
    if addresses:
        fields.append(pa.field(ROW_ADDRESS, pa.uint64()))
    return pa.schema(fields).empty_table()
