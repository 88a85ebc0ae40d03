"""Conversion between typed values and the rows of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.catalog.model import EntityType, Property, stored_properties
from omnigraph.datatypes.arrow import table_schema
from omnigraph.datatypes.values import canonical_key, coerce_json
from omnigraph.runtime.ids import new_ulid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Row", "entity_id", "fill_defaults", "from_arrow", "stored_properties", "to_arrow"]

# A row by property identity; ``@id`` and, for edges, ``@src`` and ``@dst`` included.
Row = dict[str, Any]


def fill_defaults(entity: EntityType, given: Mapping[str, Any]) -> Row:
    """Return the given values, completed by ``@default`` or NULL."""
    row: Row = dict(given)
    for prop in entity.properties:
        if prop.id not in row:
            row[prop.id] = default_value(prop)
    return row


def default_value(prop: Property) -> Any:
    """Return the declared default as a value of the type; NULL without one."""
    if prop.default is None:
        return None
    return coerce_json(prop.default, prop.dtype, nullable=False)


def entity_id(entity: EntityType, row: Mapping[str, Any]) -> str:
    """Return the canonical key; a new id for a type without key."""
    if entity.key is None:
        return new_ulid()
    return canonical_key([row[member] for member in entity.key])


def to_arrow(entity: EntityType, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return rows with exactly the columns of the type's table."""
    schema = table_schema(entity)
    columns = {prop.column: prop.id for prop in stored_properties(entity)}
    return pa.Table.from_arrays(
        [pa.array([row[columns[field.name]] for row in rows], field.type) for field in schema],
        schema=schema,
    )


def from_arrow(entity: EntityType, rows: pa.Table) -> list[Row]:
    """Return the rows of a scan as values by property id."""
    ids = {prop.column: prop.id for prop in stored_properties(entity)}
    return [{ids[name]: value for name, value in row.items()} for row in rows.to_pylist()]
