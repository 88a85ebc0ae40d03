"""A view of a table under another state of its type.

Where schemas differ, the three sides of a merge are read through the merged schema: each property
by its identity, in its merged type, new ones filled as by a schema change. A property that a side
dropped and the merged schema keeps has the values of the base there: that side has not changed
them. So has a property whose values may not fit the merged type: the type of the other side was
chosen, with its values.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.model import ID, stored_properties
from omnigraph.datatypes.arrow import table_schema
from omnigraph.evolution.row_migration import ConstantFill, RowMigration, default_fill, fits
from omnigraph.ports.tables import ROW_ADDRESS, ROW_ID, Pin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from omnigraph.catalog.model import Catalog, EntityType, Property, PropertyId, TypeId
    from omnigraph.ports.tables import RowSet, Table
    from omnigraph.versioning.snapshot import Snapshot

__all__ = [
    "SchemaViewReader",
    "base_fills",
    "fitting_properties",
    "inherited",
    "migration_between",
    "view_as",
]

_NO_FILLS: Mapping[PropertyId, ConstantFill] = MappingProxyType({})


def migration_between(before: EntityType, after: EntityType) -> RowMigration:
    """Return the row migration without extra values."""
    return RowMigration(before, after, {})


def fitting_properties(before: EntityType, after: EntityType) -> EntityType:
    """Reduce a type to the properties whose values fit ``after``."""
    kept = tuple(
        prop
        for prop in before.properties
        if prop.id not in after.by_id or fits(prop.dtype, after.by_id[prop.id].dtype)
    )
    return before if kept == before.properties else replace(before, properties=kept)


def inherited(base: Snapshot, before: EntityType, after: EntityType) -> tuple[Property, ...]:
    """Return the properties of ``after`` that ``before`` dropped since the base or cannot fit."""
    first = base.catalog.types.get(after.id)
    if first is None:
        return ()
    there, here = fitting_properties(first, after).by_id, fitting_properties(before, after).by_id
    return tuple(prop for prop in after.properties if prop.id in there and prop.id not in here)


def base_fills(
    merged: EntityType, ours: EntityType, theirs: EntityType
) -> dict[PropertyId, ConstantFill]:
    """Return base values for properties that both sides created, each with its own fill.

    The base gets the fill of the side that loses, so that only the other side counts as changed.
    """
    found = {}
    for prop in merged.properties:
        mine, other = ours.by_id.get(prop.id), theirs.by_id.get(prop.id)
        if mine is not None and other is not None and default_fill(prop) != ConstantFill(None):
            loser = other if default_fill(mine) == default_fill(prop) else mine
            found[prop.id] = default_fill(loser)
    return found


def view_as(
    snapshot: Snapshot,
    after: EntityType,
    base: Snapshot,
    fills: Mapping[PropertyId, ConstantFill] = _NO_FILLS,
) -> Table:
    """Return the table of a type as rows of ``after``, or the table itself if that is the same.

    ``fills`` replace the defaults of properties that it lacks."""
    table, before = (
        snapshot.table(after.id),
        fitting_properties(snapshot.catalog.types[after.id], after),
    )
    new = {key: fill for key, fill in fills.items() if key not in before.by_id}
    migration = RowMigration(before, after, new)
    if not migration.moves_columns:
        return table
    lost = inherited(base, before, after)
    base_values = _BaseValues(base, after, lost) if lost else None
    return cast("Table", _TableView(table, migration, base_values))


class SchemaViewReader:
    """A snapshot seen through another schema, for the evaluation of rules."""

    def __init__(self, snapshot: Snapshot, catalog: Catalog, base: Snapshot) -> None:
        self._snapshot = snapshot
        self._base = base
        self.catalog = catalog

    def table(self, type_id: TypeId) -> Table:
        after = self.catalog.types[type_id]
        if type_id not in self._snapshot.catalog.types:
            return cast("Table", _EmptyTable(table_schema(after)))
        return view_as(self._snapshot, after, self._base)


class _EmptyTable:
    """The table of a type that the snapshot does not have."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.pin = Pin("", 0, "", 0)

    def scan(self, columns: Sequence[str] | None = None, **_: Any) -> pa.Table:
        return self.schema.empty_table().select(self.schema.names if columns is None else columns)


class _BaseValues:
    """Values of the base, by the id of their entity."""

    def __init__(self, base: Snapshot, after: EntityType, properties: Sequence[Property]) -> None:
        self._base = base
        self._after = after
        self.properties = {prop.column: prop for prop in properties}

    @cached_property
    def _rows(self) -> pa.Table:
        table = view_as(self._base, self._after, self._base)
        return table.scan([ID.column, *self.properties]).combine_chunks()

    def values(self, column: str, ids: Any, otherwise: Any) -> Any:
        """Return the base values of ids; ``otherwise`` applies to entities that the base lacks."""
        at = pc.index_in(ids, value_set=_one(self._rows.column(ID.column)))
        values = _one(self._rows.column(column)).take(_one(at))
        if otherwise.null_count == len(otherwise):
            return values
        return pc.if_else(_one(at).is_valid(), values, _one(otherwise))


class _TableView:
    """The read methods of a table. Addresses and row ids are those of the underlying table."""

    # Values are computed on read, so no index of the underlying table applies.
    is_view = True

    def __init__(
        self, table: Table, migration: RowMigration, base_values: _BaseValues | None
    ) -> None:
        self._table = table
        self._migration = migration
        self._base_values = base_values
        self._properties = {prop.column: prop for prop in stored_properties(migration.after)}

    @property
    def pin(self) -> Pin:
        return self._table.pin

    @property
    def schema(self) -> pa.Schema:
        return table_schema(self._migration.after)

    def scan(
        self,
        columns: Sequence[str] | None = None,
        *,
        filter: Any = None,  # noqa: A002 - the term of Arrow and Lance
        row_ids: bool = False,
        row_addresses: bool = False,
    ) -> pa.Table:
        # A filter may refer to computed values, so it comes last.
        names = list(self._properties) if columns is None or filter is not None else list(columns)
        found = self._table.scan(self._sources(names), row_ids=row_ids, row_addresses=row_addresses)
        rows = pa.table(self._columns(found, names))
        if filter is not None:
            rows = rows.filter(filter)
        marks = [name for name in (ROW_ID, ROW_ADDRESS) if name in rows.column_names]
        return rows.select([*(names if columns is None else columns), *marks])

    def read(
        self, rows: RowSet, columns: Sequence[str], *, row_ids: bool = False
    ) -> Iterator[pa.RecordBatch]:
        for batch in self._table.read(rows, self._sources(columns), row_ids=row_ids):
            yield pa.RecordBatch.from_pydict(self._columns(batch, columns))

    def might_contain(self, _column: str, values: pa.Array) -> pa.Array:
        """Return all values: a computed one has no membership filter."""
        return values

    def _sources(self, columns: Sequence[str]) -> list[str]:
        names = self._migration.reads(self._properties[name] for name in columns)
        if self._base_values is None or self._base_values.properties.keys().isdisjoint(columns):
            return list(names)
        return list(dict.fromkeys((ID.column, *names)))

    def _columns(self, rows: pa.Table | pa.RecordBatch, columns: Sequence[str]) -> dict[str, Any]:
        made = {name: self._migration.column(self._properties[name], rows) for name in columns}
        if self._base_values is not None:
            for name in self._base_values.properties.keys() & made.keys():
                made[name] = self._base_values.values(name, rows.column(ID.column), made[name])
        marks = [name for name in (ROW_ID, ROW_ADDRESS) if name in rows.schema.names]
        return made | {name: rows.column(name) for name in marks}


def _one(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(values, pa.Array):
        return values
    return pa.concat_arrays(values.chunks) if values.num_chunks else values.combine_chunks()
