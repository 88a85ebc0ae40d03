"""The columns of entities in Spark: names of properties, and types that Spark supports.

============================  =====================
type of a property            type in Spark
============================  =====================
String, enum                  string
Bool                          boolean
I32, I64, U32                 int, bigint, bigint
U64                           decimal(20, 0)
F32, F64                      float, double
Date, DateTime                date, timestamp
Blob                          binary
Vector, [scalar]              array
============================  =====================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from omnigraph.catalog.model import DST, ID, SRC, EdgeType
from omnigraph.datatypes.arrow import arrow_type
from omnigraph.errors import InvalidInput, NotFound
from omnigraph.language.diagnostics import suggest

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog, EntityType, Property

__all__ = ["cast_for_spark", "entity_columns", "entity_schema", "find_entity", "spark_arrow_type"]

_UNSIGNED_64 = pa.decimal128(20, 0)


def entity_columns(entity: EntityType) -> dict[str, Property]:
    """Map the external column names of a type (``id``, the ends of an edge, properties) to
    properties."""
    ends = {"from": SRC, "to": DST} if isinstance(entity, EdgeType) else {}
    return {ID.name: ID, **ends, **{prop.name: prop for prop in entity.properties}}


def entity_schema(entity: EntityType) -> pa.Schema:
    """Return the columns of a type as Spark reads them."""
    return pa.schema(
        [
            pa.field(name, spark_arrow_type(arrow_type(prop.dtype)), prop.nullable)
            for name, prop in entity_columns(entity).items()
        ]
    )


def spark_arrow_type(found: pa.DataType) -> pa.DataType:
    """Return the Arrow type that Spark reads in place of a type that it does not support."""
    if pa.types.is_uint64(found):
        return _UNSIGNED_64
    if pa.types.is_unsigned_integer(found):
        return pa.int64()
    if pa.types.is_large_binary(found):
        return pa.binary()
    if pa.types.is_large_string(found):
        return pa.string()
    if pa.types.is_list(found) or pa.types.is_fixed_size_list(found):
        return pa.list_(spark_arrow_type(found.value_type))
    if pa.types.is_struct(found):
        return pa.struct([field.with_type(spark_arrow_type(field.type)) for field in found])
    return found


def cast_for_spark(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Rename the columns of a batch and cast them to exactly the types that Spark expects."""
    arrays = [_cast(column, field) for column, field in zip(rows.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _cast(column: pa.Array, field: pa.Field) -> pa.Array:
    if column.type.equals(field.type):
        return column
    try:
        return column.cast(field.type)
    except pa.ArrowException as error:
        raise InvalidInput(
            "source.bad_schema",
            f"{field.name} has type {column.type} and cannot be read as {field.type}: {error}",
            remedy="keep its type, or leave out .schema(…), and cast in Spark",
        ) from error


def find_entity(catalog: Catalog, name: str | None) -> EntityType:
    """Return the type with a name, or raise an error that suggests known names."""
    known = [entity.name for entity in catalog.types.values()]
    if name is None:
        raise InvalidInput(
            "source.no_type",
            "the data source needs a type or a query",
            remedy=f'.option("type", …) is one of {", ".join(known[:20])}',
        )
    entity = catalog.entity(name)
    if entity is None:
        raise NotFound(
            "source.unknown_type",
            f"the schema has no type {name!r}",
            remedy=suggest(name, known),
        )
    return entity
