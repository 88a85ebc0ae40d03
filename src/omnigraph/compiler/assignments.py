"""Assigned values: what ``insert`` and ``set`` write into a property."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.constants import lower_literal, lower_vector
from omnigraph.compiler.expressions import lower_items, lower_operand
from omnigraph.compiler.literals import LiteralMismatch, stored_in
from omnigraph.compiler.operands import TypedOperand, is_blob, is_null
from omnigraph.compiler.rules import (
    comparison,
    literal_value,
    mutation_expression,
    mutation_variable,
)
from omnigraph.datatypes.types import (
    FLOATS,
    STRING,
    DataType,
    ListType,
    ScalarType,
    VectorType,
    is_numeric,
)
from omnigraph.ir import expressions as ir
from omnigraph.language.gq import ast

if TYPE_CHECKING:
    from omnigraph.catalog.model import Property
    from omnigraph.compiler.scope import EntityScope

__all__ = ["lower_value"]


def lower_value(scope: EntityScope, prop: Property, node: ast.Expr) -> ir.Expr | None:
    """The value for a property: a literal, a list, a parameter or ``now()``."""
    unit = scope.unit
    match node:
        case ast.Literal():
            const = lower_literal(unit, node)
            return None if const is None else _stored(scope, prop, TypedOperand(const, node.span))
        case ast.ListLiteral():
            return _lower_list(scope, prop, node)
        case ast.Variable():
            return _lower_parameter(scope, prop, node)
        case ast.Now():
            return _checked(scope, prop, TypedOperand(ir.Now(), node.span))
        case _:
            value = lower_operand(scope, node)
            return None if value is None else _checked(scope, prop, value)


def _stored(scope: EntityScope, prop: Property, value: TypedOperand) -> ir.Expr | None:
    """A literal, fitted to the property."""
    assert isinstance(value.expr, ir.Const)  # noqa: S101 - narrowing; the caller lowered a literal
    if is_null(value) and scope.unit.fails(literal_value.check_null(scope.entity, prop, value)):
        return None
    fitted = stored_in(value.expr, prop.dtype)
    if isinstance(fitted, LiteralMismatch):
        scope.unit.report(literal_value.misfit(prop, value.span, fitted))
        return None
    return fitted


def _lower_list(scope: EntityScope, prop: Property, node: ast.ListLiteral) -> ir.Expr | None:
    match prop.dtype:
        case VectorType():
            vector = lower_vector(scope.unit, node)
            if vector is None:
                return None
            found = literal_value.check_dimension(prop, len(node.items), node.span)
            return None if scope.unit.fails(found) else vector
        case ListType(item):
            return _lower_items(scope, prop, node, ScalarType(item))
        case _:
            scope.unit.report(
                literal_value.misfit(prop, node.span, LiteralMismatch("found a list"))
            )
            return None


def _lower_items(
    scope: EntityScope, prop: Property, node: ast.ListLiteral, held: ScalarType
) -> ir.MakeList | None:
    items = lower_items(scope, node)
    if items is None:
        return None
    stored = []
    for item in items:
        fitted = stored_in(item.expr, held) if isinstance(item.expr, ir.Const) else item.expr
        if isinstance(fitted, LiteralMismatch):
            scope.unit.report(literal_value.misfit(prop, item.span, fitted))
        elif not isinstance(item.expr, ir.Const) and not _takes(held, item.dtype):
            scope.unit.report(comparison.parameter(prop.name, held, item))
        else:
            stored.append(fitted)
    return ir.MakeList(tuple(stored), held) if len(stored) == len(items) else None


def _lower_parameter(scope: EntityScope, prop: Property, node: ast.Variable) -> ir.Expr | None:
    if node.name == scope.variable_name:
        scope.unit.report(mutation_expression.no_value(node.span))
        return None
    spec = scope.unit.params.get(node.name)
    if spec is None:
        found = mutation_variable.undeclared(node.name, node.span, scope.unit.params)
        scope.unit.report(found)
        return None
    value = ir.ParamRef(spec.name, spec.dtype, spec.nullable)
    return _checked(scope, prop, TypedOperand(value, node.span))


def _checked(scope: EntityScope, prop: Property, value: TypedOperand) -> ir.Expr | None:
    if _takes(prop.dtype, value.dtype):
        return value.expr
    scope.unit.report(comparison.parameter(prop.name, prop.dtype, value))
    return None


def _takes(wanted: DataType, given: DataType | None) -> bool:
    """Whether a property of the one type takes values of the other.

    Ranges, members and nulls are a matter of the value, and checked when it is there.
    """
    if wanted == given:
        return True
    if isinstance(wanted, ListType) and isinstance(given, ListType):
        return _takes(ScalarType(wanted.item), ScalarType(given.item))
    if given is not None and is_numeric(wanted) and is_numeric(given):
        return _is_float(wanted) or not _is_float(given)
    if is_blob(wanted):
        return given == STRING
    return comparison.is_text(wanted) and comparison.is_text(given)


def _is_float(dtype: DataType) -> bool:
    return isinstance(dtype, ScalarType) and dtype.scalar in FLOATS
