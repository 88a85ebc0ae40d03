"""Types and tables in Arrow."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from omnigraph.catalog.model import NO_ANNOTATIONS, EdgeType, NodeType, Property, PropertyId, TypeId
from omnigraph.datatypes.arrow import BLOB, PROPERTY, arrow_type, table_schema
from omnigraph.datatypes.types import DataType, EnumType, ListType, Scalar, ScalarType, VectorType


@pytest.mark.parametrize(
    ("dtype", "arrow"),
    [
        (ScalarType(Scalar.STRING), pa.string()),
        (ScalarType(Scalar.BOOL), pa.bool_()),
        (ScalarType(Scalar.I32), pa.int32()),
        (ScalarType(Scalar.I64), pa.int64()),
        (ScalarType(Scalar.U32), pa.uint32()),
        (ScalarType(Scalar.U64), pa.uint64()),
        (ScalarType(Scalar.F32), pa.float32()),
        (ScalarType(Scalar.F64), pa.float64()),
        (ScalarType(Scalar.DATE), pa.date32()),
        (ScalarType(Scalar.DATETIME), pa.timestamp("us", tz="UTC")),
        (ScalarType(Scalar.BLOB), pa.large_binary()),
        (EnumType(("a", "b")), pa.string()),
        (ListType(Scalar.I32), pa.list_(pa.int32())),
        (VectorType(3), pa.list_(pa.float32(), 3)),
    ],
)
def test_every_type_has_an_arrow_type(dtype: DataType, arrow: pa.DataType) -> None:
    assert arrow_type(dtype) == arrow


def test_every_scalar_is_covered() -> None:
    for scalar in Scalar:
        arrow_type(ScalarType(scalar))


def prop(name: str, dtype: DataType, *, nullable: bool = False) -> Property:
    return Property(PropertyId(f"p-{name}"), name, f"c_{name}", dtype, nullable)


RULES: dict[str, Any] = {
    "uniques": (),
    "indexes": (),
    "ranges": (),
    "checks": (),
    "key": None,
    "annotations": NO_ANNOTATIONS,
}


def test_a_node_table_has_id_then_properties_by_column() -> None:
    node = NodeType(
        id=TypeId("t1"),
        name="Person",
        properties=(
            prop("age", ScalarType(Scalar.I32)),
            prop("photo", ScalarType(Scalar.BLOB), nullable=True),
        ),
        **RULES,
    )
    schema = table_schema(node)
    assert schema.names == ["id", "c_age", "c_photo"]
    assert [field.nullable for field in schema] == [False, True, True]
    assert schema.field("id").metadata == {PROPERTY: b"@id"}
    assert schema.field("c_age").metadata == {PROPERTY: b"p-age"}
    assert schema.field("c_photo").metadata == {PROPERTY: b"p-photo", BLOB: b"true"}


def test_an_edge_table_has_its_endpoints() -> None:
    edge = EdgeType(
        id=TypeId("t2"),
        name="Knows",
        properties=(prop("since", ScalarType(Scalar.DATE)),),
        **RULES,
    )
    schema = table_schema(edge)
    assert schema.names == ["id", "src", "dst", "c_since"]
    assert [field.nullable for field in schema] == [False, False, False, True]
