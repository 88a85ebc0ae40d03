"""The columns of a result: names, kinds and whether they may be null."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.datatypes.types import (
    DataType,
    EnumType,
    ListType,
    Scalar,
    ScalarType,
    VectorType,
)
from omnigraph.ir import expressions as ir
from omnigraph.ir.queries import ResultColumn
from omnigraph.language.gq import ast
from omnigraph.language.gq.printer import print_expr

if TYPE_CHECKING:
    from omnigraph.ir.queries import Projection

__all__ = ["column_name", "result_column"]

# Longer names are cut.
_NAME_MAX = 60
_KINDS = {
    Scalar.STRING: "string",
    Scalar.BOOL: "bool",
    Scalar.I32: "int",
    Scalar.U32: "int",
    Scalar.I64: "bigint",
    Scalar.U64: "bigint",
    Scalar.F32: "float",
    Scalar.F64: "float",
    Scalar.DATE: "date",
    Scalar.DATETIME: "datetime",
    Scalar.BLOB: "blob",
}


def column_name(node: ast.Expr) -> str:
    """The name of a column without an alias: as it is written, without ``$`` and arguments."""
    match node:
        case ast.PropertyAccess(variable=variable, prop=prop):
            return f"{variable}.{prop}"
        case ast.Variable(name=name) | ast.AliasRef(name=name):
            return name
        case ast.Aggregate(func=func) | ast.BlockAggregate(func=func) | ast.TextCall(func=func):
            return func.value
        case ast.FunctionCall(name=name):
            return name
        case ast.Now():
            return "now"
        case ast.Literal() | ast.ListLiteral():
            return "literal"
        case ast.Exists() | ast.Not() | ast.Logical() | ast.Comparison():
            return "condition"
        case _:
            return print_expr(node).replace("$", "")[:_NAME_MAX]


def result_column(projection: Projection) -> ResultColumn:
    """Describe a column for a client, before the first row arrives."""
    nullable = ir.is_nullable(projection.expr)
    match ir.type_of(projection.expr):
        case None:
            return ResultColumn(projection.name, "object", nullable)
        case ListType(item):
            return ResultColumn(projection.name, "list", nullable, item_kind=_KINDS[item])
        case VectorType(dim):
            return ResultColumn(projection.name, "vector", nullable, vector_dim=dim)
        case ScalarType() | EnumType() as dtype:
            return ResultColumn(projection.name, _kind(dtype), nullable)


def _kind(dtype: DataType) -> str:
    return _KINDS[dtype.scalar] if isinstance(dtype, ScalarType) else "string"
