"""Inline filters: ``$x: Type { prop: value }``.

They mean what ``$x.prop = value`` means. On a list property they ask whether the list holds the
value. As everywhere, a parameter that is null at run time matches nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.expressions import lower_operand
from omnigraph.compiler.literals import LiteralMismatch, compared_with
from omnigraph.compiler.operands import is_blob, is_null
from omnigraph.compiler.rules import binding_property, blob_value, comparison, literal_value
from omnigraph.datatypes.types import ListType, ScalarType, VectorType
from omnigraph.ir import expressions as ir

if TYPE_CHECKING:
    from omnigraph.catalog.model import NodeType, Property
    from omnigraph.compiler.operands import TypedOperand
    from omnigraph.compiler.scope import PatternScope
    from omnigraph.compiler.unit import CompilationUnit
    from omnigraph.language.gq import ast

__all__ = ["lower_inline_filter"]


def lower_inline_filter(
    scope: PatternScope, slot: ir.Slot, node: NodeType, inline: ast.Assignment
) -> ir.Expr | None:
    """One ``prop: value`` of a binding, as a condition on the bound node."""
    prop = node.find(inline.prop)
    if prop is None:
        scope.unit.report(binding_property.unknown(node, inline))
        return None
    if is_blob(prop.dtype):
        scope.unit.report(blob_value.read(inline.prop_span))
        return None
    value = lower_operand(scope, inline.value)
    fitted = None if value is None else _fitted(scope.unit, prop, value)
    if fitted is None:
        return None
    target = ir.PropertyRef(slot, prop.id, prop.dtype, prop.nullable)
    if isinstance(prop.dtype, ListType):
        return ir.ListContains(target, fitted)
    return ir.Compare(ir.CompareOp.EQ, target, fitted)


def _fitted(unit: CompilationUnit, prop: Property, value: TypedOperand) -> ir.Expr | None:
    """The value, of a type that the property can be compared with."""
    if isinstance(value.dtype, ListType) or isinstance(prop.dtype, VectorType):
        unit.report(literal_value.list_in_filter(prop, value.span))
        return None
    if is_null(value):
        unit.report(literal_value.null_in_filter(prop, value.span))
        return None
    held = ScalarType(prop.dtype.item) if isinstance(prop.dtype, ListType) else prop.dtype
    if isinstance(value.expr, ir.Const):
        fitted = compared_with(value.expr, held)
        if isinstance(fitted, LiteralMismatch):
            unit.report(literal_value.misfit(prop, value.span, fitted))
            return None
        return fitted
    if value.dtype is None or not comparison.comparable(held, value.dtype):
        unit.report(comparison.parameter(prop.name, held, value))
        return None
    return value.expr
