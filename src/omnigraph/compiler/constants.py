"""Values that are the same in every row: literals, parameters, ``now()``, and lists of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.literals import LiteralMismatch, compared_with, typed
from omnigraph.compiler.rules import list_items, literal_value
from omnigraph.datatypes.types import F64, I64, STRING, DataType, Scalar, ScalarType, VectorType
from omnigraph.datatypes.values import ValueProblem, coerce_json
from omnigraph.ir import expressions as ir
from omnigraph.language.gq import ast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.compiler.operands import TypedOperand
    from omnigraph.compiler.scope import Names
    from omnigraph.compiler.unit import CompilationUnit

__all__ = [
    "lower_constant",
    "lower_literal",
    "lower_vector",
    "make_list",
]

F32 = ScalarType(Scalar.F32)


def lower_literal(unit: CompilationUnit, node: ast.Literal) -> ir.Const | None:
    """The literal with the type that it has by itself."""
    const = typed(node.value)
    if isinstance(const, LiteralMismatch):
        unit.report(literal_value.malformed(node.span, const))
        return None
    return const


def lower_constant(names: Names, node: ast.Expr) -> ir.Expr | None:
    """A literal, a parameter or ``now()``; nothing else may be an item of a list."""
    match node:
        case ast.Literal():
            return lower_literal(names.unit, node)
        case ast.Now():
            return ir.Now()
        case ast.Variable():
            expr = names.variable(node)
            if expr is None or isinstance(expr, ir.ParamRef):
                return expr
        case _:
            pass
    names.unit.report(list_items.no_constant(node.span))
    return None


def make_list(items: Sequence[TypedOperand], empty: DataType = STRING) -> ir.MakeList:
    """A list of items that can be compared with each other."""
    held = _common_type(items) if items else empty
    return ir.MakeList(tuple(_held(item.expr, held) for item in items), held)


def _held(item: ir.Expr, dtype: DataType) -> ir.Expr:
    fitted = compared_with(item, dtype) if isinstance(item, ir.Const) else item
    return item if isinstance(fitted, LiteralMismatch) else fitted


def lower_vector(unit: CompilationUnit, node: ast.ListLiteral) -> ir.Const | None:
    """A list of numbers as a vector, rounded to what 32 bits hold."""
    numbers = []
    for item in node.items:
        if not isinstance(item, ast.Literal):
            unit.report(list_items.no_number(item.span))
            return None
        numbers.append(item.value)
    dtype = VectorType(len(numbers))
    try:
        rounded = coerce_json(numbers, dtype)
    except ValueProblem as problem:
        unit.report(list_items.no_vector(node.span, problem.message))
        return None
    assert isinstance(rounded, list)  # noqa: S101 - narrowing; a vector is a list of floats
    return ir.Const(tuple(rounded), dtype)


def _common_type(items: Sequence[TypedOperand]) -> DataType:
    """The type of a list whose items can be compared with each other."""
    found = {item.dtype for item in items}
    if len(found) == 1:
        dtype = found.pop()
        assert dtype is not None  # noqa: S101 - narrowing; constants are no entities
        return dtype
    if STRING in found:
        return STRING
    return F64 if found & {F32, F64} else I64
