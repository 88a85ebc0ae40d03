"""Pure conversion of rows from one state of a type to another.

A property in both states keeps its value, cast if its type changed. A new property is filled: from
an expression if one is given, from its default if a value is required, else with NULL.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.diff_properties import is_lossless
from omnigraph.changeset.rows import default_value, stored_properties
from omnigraph.datatypes.arrow import arrow_type, table_schema
from omnigraph.datatypes.types import DataType, spell_type
from omnigraph.errors import SchemaFailure
from omnigraph.frozen import frozen
from omnigraph.ports.tables import ColumnFill

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from omnigraph.catalog.model import EntityType, Property, PropertyId

__all__ = [
    "CoalesceFill",
    "ConcatFill",
    "ConstantFill",
    "CopyFill",
    "Fill",
    "RowMigration",
    "default_fill",
    "fits",
    "migrate_table",
]


@frozen
class ConstantFill:
    """The same value in every row, already of the property's type."""

    value: Any


@frozen
class CopyFill:
    """The value of another property before the change."""

    source: Property


@frozen
class ConcatFill:
    """Concatenated texts; NULL if one of them is NULL."""

    parts: tuple[Fill, ...]


@frozen
class CoalesceFill:
    """The first of several that is not NULL."""

    options: tuple[Fill, ...]


Fill = ConstantFill | CopyFill | ConcatFill | CoalesceFill

_NO_FILLS: Mapping[PropertyId, Fill] = MappingProxyType({})


def migrate_table(
    rows: pa.Table,
    before: EntityType,
    after: EntityType,
    fills: Mapping[PropertyId, Fill] = _NO_FILLS,
) -> pa.Table:
    """Convert whole rows between two states of a type with the same identity.

    Raises ``schema.type_change`` where a value may not fit."""
    migration = RowMigration(before, after, fills)
    columns = [migration.column(prop, rows) for prop in stored_properties(after)]
    return pa.Table.from_arrays(columns, schema=table_schema(after))


def default_fill(prop: Property) -> ConstantFill:
    """Return the fill of existing rows without a backfill."""
    return ConstantFill(None if prop.nullable else default_value(prop))


def fits(old: DataType, new: DataType) -> bool:
    """Return whether values of one type can be stored as another; enums are checked later."""
    return arrow_type(old).equals(arrow_type(new)) or is_lossless(old, new)


@dataclass(frozen=True)
class RowMigration:
    """The conversion of rows from one state of a type to another."""

    before: EntityType
    after: EntityType
    fills: Mapping[PropertyId, Fill]

    @cached_property
    def written(self) -> tuple[Property, ...]:
        """The properties with values to write: neither unchanged nor NULL."""
        return tuple(prop for prop in self.after.properties if self._is_written(prop))

    @property
    def moves_columns(self) -> bool:
        """Whether the table needs a new version."""
        before, after = table_schema(self.before), table_schema(self.after)
        return bool(self.written) or not before.equals(after, check_metadata=True)

    @property
    def gives_values(self) -> bool:
        """Whether rows get a value that they did not have; a cast alone does not count."""
        return any(
            prop.id in self.fills or self._predecessor(prop) is None for prop in self.written
        )

    def reads(self, props: Iterable[Property]) -> tuple[str, ...]:
        """Return the columns that determine the values of some properties."""
        return tuple(dict.fromkeys(name for prop in props for name in self._sources(prop)))

    def column(self, prop: Property, rows: pa.Table | pa.RecordBatch) -> pa.ChunkedArray | pa.Array:
        """Return the values of a property of ``after``, for rows in the columns of ``before``."""
        old = self._predecessor(prop)
        if old is None:
            return self._value(self._fill_of(prop), prop, rows)
        kept = _convert(rows.column(old.column), old, prop)
        fill = self.fills.get(prop.id)
        return kept if fill is None else pc.coalesce(kept, self._value(fill, prop, rows))

    def filling(self) -> ColumnFill | None:
        """Return the batchwise computation of the written columns, for reshaping a table."""
        if not self.written:
            return None
        names = tuple(prop.column for prop in self.written)

        def compute(batch: pa.RecordBatch) -> pa.RecordBatch:
            columns = [self.column(prop, batch) for prop in self.written]
            return pa.RecordBatch.from_arrays(columns, list(names))

        return ColumnFill(names, self.reads(self.written), compute)

    def _predecessor(self, prop: Property) -> Property | None:
        return self.before.by_id.get(prop.id)

    def _fill_of(self, prop: Property) -> Fill:
        given = self.fills.get(prop.id)
        return default_fill(prop) if given is None else given

    def _is_written(self, prop: Property) -> bool:
        old = self._predecessor(prop)
        if old is None:
            return self._fill_of(prop) != ConstantFill(None)
        changed = not arrow_type(old.dtype).equals(arrow_type(prop.dtype))
        return changed or prop.id in self.fills

    def _sources(self, prop: Property) -> Iterable[str]:
        old, fill = self._predecessor(prop), self.fills.get(prop.id)
        if old is not None:
            yield old.column
        if fill is not None:
            yield from _columns_of(fill)

    def _value(
        self, fill: Fill, prop: Property, rows: pa.Table | pa.RecordBatch
    ) -> pa.ChunkedArray | pa.Array:
        match fill:
            case ConstantFill(value=None):
                return pa.nulls(rows.num_rows, arrow_type(prop.dtype))
            case ConstantFill(value=value):
                return pa.repeat(pa.scalar(value, arrow_type(prop.dtype)), rows.num_rows)
            case CopyFill(source=source):
                return _convert(rows.column(source.column), source, prop)
            case ConcatFill(parts):
                texts = [self._value(part, prop, rows) for part in parts]
                return pc.binary_join_element_wise(*texts, "", null_handling="emit_null")
            case CoalesceFill(options):
                return pc.coalesce(*(self._value(option, prop, rows) for option in options))


def _columns_of(fill: Fill) -> Iterator[str]:
    match fill:
        case CopyFill(source=source):
            yield source.column
        case ConcatFill(parts) | CoalesceFill(parts):
            for part in parts:
                yield from _columns_of(part)
        case ConstantFill():
            pass


def _convert(
    column: pa.ChunkedArray | pa.Array, old: Property, new: Property
) -> pa.ChunkedArray | pa.Array:
    if not fits(old.dtype, new.dtype):
        raise SchemaFailure(
            "schema.type_change",
            f"values of {old.name} ({spell_type(old.dtype)}) may not fit {new.name} "
            f"({spell_type(new.dtype)})",
            remedy="keep the type, or add a property with the new one",
        )
    return column.cast(arrow_type(new.dtype))
