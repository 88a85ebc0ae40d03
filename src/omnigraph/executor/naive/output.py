"""From values to the typed result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.catalog.model import DST, ID, SRC, EntityKind, TypeId
from omnigraph.datatypes.arrow import arrow_type
from omnigraph.datatypes.types import ListType, Scalar, ScalarType, VectorType
from omnigraph.errors import InvariantBroken
from omnigraph.executor.naive.values import Entity
from omnigraph.executor.result import QueryResult
from omnigraph.ir.expressions import EntityRef, type_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.catalog.model import Catalog, EntityType, Property
    from omnigraph.ir.expressions import Value
    from omnigraph.ir.queries import Projection, ReadIR, ResultColumn

__all__ = ["make_result"]


def make_result(
    ir: ReadIR, catalog: Catalog, rows: Sequence[Sequence[Value | Entity]]
) -> QueryResult:
    """The result of a query out of its rows, a value per projection each."""
    fields, arrays = [], []
    for index, (projection, column) in enumerate(zip(ir.returns, ir.columns, strict=True)):
        shape = _shape(projection, catalog)
        dtype = _column_type(projection, shape)
        cells = [_plain(row[index], shape) for row in rows]
        arrays.append(_array(cells, dtype, column))
        fields.append(pa.field(column.name, dtype, nullable=column.nullable))
    table = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
    return QueryResult(ir.name, ir.columns, table)


def _array(cells: list[Any], dtype: pa.DataType, column: ResultColumn) -> pa.Array:
    array = pa.array(cells, type=dtype)
    if array.null_count and not column.nullable:
        raise InvariantBroken(10, f"the column {column.name} was compiled as never NULL")
    return array


def _column_type(projection: Projection, shape: dict[str, Property] | None) -> pa.DataType:
    if shape is not None:
        return pa.struct(
            [
                pa.field(name, arrow_type(prop.dtype), nullable=prop.nullable)
                for name, prop in shape.items()
            ]
        )
    # A list of enum values has no type of its own.
    return arrow_type(type_of(projection.expr) or ListType(Scalar.STRING))


def _shape(projection: Projection, catalog: Catalog) -> dict[str, Property] | None:
    """The fields of a whole entity by name; None for a plain value."""
    if not isinstance(projection.expr, EntityRef):
        return None
    return _entity_fields(catalog.types[TypeId(projection.expr.type_id)])


def _entity_fields(entity_type: EntityType) -> dict[str, Property]:
    """Blobs and vectors are read only when they are named."""
    ends = {"from": SRC, "to": DST} if entity_type.kind is EntityKind.EDGE else {}
    return {"id": ID, **ends} | {
        prop.name: prop for prop in entity_type.properties if not _is_bulky(prop)
    }


def _is_bulky(prop: Property) -> bool:
    return isinstance(prop.dtype, VectorType) or prop.dtype == ScalarType(Scalar.BLOB)


def _plain(value: Value | Entity, shape: dict[str, Property] | None) -> Any:
    if isinstance(value, Entity) and shape is not None:
        return {name: value.value(prop.id) for name, prop in shape.items()}
    return value
