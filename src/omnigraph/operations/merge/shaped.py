"""A table as if its rows had been written under another state of its type.

Where schemas differ, the three sides of a merge are looked at through the merged schema: each
property by its identity, in its merged type, new ones filled as a schema change would fill them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from omnigraph.catalog.model import stored_properties
from omnigraph.datatypes.arrow import table_schema
from omnigraph.operations.evolve.rows import Passage
from omnigraph.ports.tables import ROW_ADDRESS, ROW_ID, Pin

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from omnigraph.catalog.model import Catalog, EntityType, TypeId
    from omnigraph.ports.tables import RowSet, Table
    from omnigraph.versioning.snapshot import Snapshot

__all__ = ["ShapedReader", "passage_between", "shaped"]


def passage_between(before: EntityType, after: EntityType) -> Passage:
    """The way of rows without any extra values."""
    return Passage(before, after, {})


def shaped(table: Table, before: EntityType, after: EntityType) -> Table:
    """The table, seen as rows of ``after``; itself where that makes no difference."""
    passage = passage_between(before, after)
    if not passage.moves_columns:
        return table
    return cast("Table", _ShapedTable(table, passage))


class ShapedReader:
    """A snapshot through another schema, as the rules of integrity read it."""

    def __init__(self, snapshot: Snapshot, catalog: Catalog) -> None:
        self._snapshot = snapshot
        self.catalog = catalog

    def table(self, type_id: TypeId) -> Table:
        before, after = self._snapshot.catalog.types.get(type_id), self.catalog.types[type_id]
        if before is None:
            return cast("Table", _EmptyTable(table_schema(after)))
        return shaped(self._snapshot.table(type_id), before, after)


class _EmptyTable:
    """A type that the snapshot does not have."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.pin = Pin("", 0, "", 0)

    def scan(self, columns: Sequence[str] | None = None, **_: Any) -> pa.Table:
        return self.schema.empty_table().select(self.schema.names if columns is None else columns)


class _ShapedTable:
    """The reading half of a table. Addresses and row ids are those of the table below."""

    def __init__(self, table: Table, passage: Passage) -> None:
        self._table = table
        self._passage = passage
        self._properties = {prop.column: prop for prop in stored_properties(passage.after)}

    @property
    def pin(self) -> Pin:
        return self._table.pin

    @property
    def schema(self) -> pa.Schema:
        return table_schema(self._passage.after)

    def scan(
        self,
        columns: Sequence[str] | None = None,
        *,
        filter: Any = None,  # noqa: A002 - the word that Arrow and Lance use
        row_ids: bool = False,
        row_addresses: bool = False,
    ) -> pa.Table:
        # A filter may ask for values that are not stored, so it comes last.
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

    def _sources(self, columns: Sequence[str]) -> list[str]:
        return list(self._passage.reads(self._properties[name] for name in columns))

    def _columns(self, rows: pa.Table | pa.RecordBatch, columns: Sequence[str]) -> dict[str, Any]:
        made = {name: self._passage.column(self._properties[name], rows) for name in columns}
        marks = [name for name in (ROW_ID, ROW_ADDRESS) if name in rows.schema.names]
        return made | {name: rows.column(name) for name in marks}
