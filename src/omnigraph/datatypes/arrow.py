"""Map data types to Arrow types and entity types to table schemas.

A blob is a ``large_binary`` field with a marker; the adapter decides how to store it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from omnigraph.datatypes.types import (
    DataType,
    EnumType,
    ListType,
    Scalar,
    ScalarType,
    VectorType,
)
from omnigraph.memoized import memoized

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["BLOB", "PROPERTY", "arrow_type", "table_schema"]

# Field metadata: the stable id of the property, and the marker of a blob.
PROPERTY = b"omnigraph.property"
BLOB = b"omnigraph.blob"

_SCALARS: Mapping[Scalar, pa.DataType] = {
    Scalar.STRING: pa.string(),
    Scalar.BOOL: pa.bool_(),
    Scalar.I32: pa.int32(),
    Scalar.I64: pa.int64(),
    Scalar.U32: pa.uint32(),
    Scalar.U64: pa.uint64(),
    Scalar.F32: pa.float32(),
    Scalar.F64: pa.float64(),
    Scalar.DATE: pa.date32(),
    Scalar.DATETIME: pa.timestamp("us", tz="UTC"),
    Scalar.BLOB: pa.large_binary(),
}


class _Property(Protocol):
    """The attributes of a property that determine its column."""

    @property
    def id(self) -> str: ...
    @property
    def column(self) -> str: ...
    @property
    def dtype(self) -> DataType: ...
    @property
    def nullable(self) -> bool: ...


class _Entity(Protocol):
    """The attributes of an entity type that determine its table."""

    @property
    def kind(self) -> str: ...
    @property
    def properties(self) -> Sequence[_Property]: ...


def arrow_type(dtype: DataType) -> pa.DataType:
    """Return the Arrow type of a data type."""
    match dtype:
        case ScalarType(scalar):
            return _SCALARS[scalar]
        case EnumType():
            return pa.string()
        case ListType(item):
            return pa.list_(_SCALARS[item])
        case VectorType(dim):
            return pa.list_(pa.float32(), dim)


@memoized
def table_schema(entity: _Entity) -> pa.Schema:
    """Return the columns of a table: ``id``, the endpoints of an edge, then the properties.

    A column keeps its name through renames of its property. Only physical columns are non-null in
    storage: the catalog defines the nullability of properties, and writes check it, so that it can
    change without rewriting the table.
    """
    physical = ("id",) if entity.kind == "node" else ("id", "src", "dst")
    fields = [
        pa.field(name, pa.string(), nullable=False, metadata={PROPERTY: f"@{name}"})
        for name in physical
    ]
    return pa.schema([*fields, *(_property_field(prop) for prop in entity.properties)])


def _property_field(prop: _Property) -> pa.Field:
    metadata = {PROPERTY: prop.id}
    if prop.dtype == ScalarType(Scalar.BLOB):
        metadata[BLOB] = "true"
    return pa.field(prop.column, arrow_type(prop.dtype), nullable=True, metadata=metadata)
