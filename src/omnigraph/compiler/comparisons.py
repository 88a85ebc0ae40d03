"""Comparisons, string and list matches, membership and null tests over lowered operands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.constants import make_list
from omnigraph.compiler.functions import check_text_pattern
from omnigraph.compiler.literals import LiteralMismatch, compared_with
from omnigraph.compiler.operands import TypedOperand
from omnigraph.compiler.rules import comparison
from omnigraph.datatypes.types import STRING, DataType, ListType, ScalarType, is_numeric
from omnigraph.ir import expressions as ir
from omnigraph.language.gq import ast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.compiler.unit import CompilationUnit
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

__all__ = ["compare", "is_in", "is_in_items", "is_null", "string_or_list_match"]

_COMPARE_OPS = {op: ir.CompareOp(op.value) for op in ast.CompareOp}
_STRING_OPS = {op: ir.StringOp(op.value) for op in ast.MatchOp}


def compare(
    unit: CompilationUnit, op: ast.CompareOp, left: TypedOperand, right: TypedOperand, *, span: Span
) -> ir.Compare | None:
    """``left op right``, literals fitted to the other side."""
    if isinstance(left.expr, ir.EntityRef) and isinstance(right.expr, ir.EntityRef):
        return _compare_entities(unit, op, left.expr, right.expr, span)
    for operand in (left, right):
        if unit.fails(comparison.check_null(operand) or _check_comparable(operand)):
            return None
    pair = _fitted(unit, left, right)
    if pair is None:
        return None
    lowered = _COMPARE_OPS[op]
    if unit.fails(comparison.check_types(lowered, *pair, span=span)):
        return None
    return ir.Compare(lowered, pair[0].expr, pair[1].expr)


def _check_comparable(operand: TypedOperand) -> Diagnostic | None:
    """Lists are compared item by item, entities and vectors not at all."""
    return None if isinstance(operand.dtype, ListType) else comparison.check_single(operand)


def _compare_entities(
    unit: CompilationUnit, op: ast.CompareOp, left: ir.EntityRef, right: ir.EntityRef, span: Span
) -> ir.Compare | None:
    """Whether two variables are bound to the same entity."""
    if op not in (ast.CompareOp.EQ, ast.CompareOp.NE) or left.type_id != right.type_id:
        unit.report(comparison.unlike_entities(op.value, span, same=left.type_id == right.type_id))
        return None
    ids = (ir.PropertyRef(each.slot, "@id", STRING, each.nullable) for each in (left, right))
    return ir.Compare(_COMPARE_OPS[op], *ids)


def string_or_list_match(
    unit: CompilationUnit, op: ast.MatchOp, haystack: TypedOperand, needle: TypedOperand
) -> ir.Expr | None:
    """``contains`` and its like: a part of a string, or an item of a list."""
    if unit.fails(comparison.check_null(haystack) or comparison.check_null(needle)):
        return None
    if isinstance(haystack.dtype, ListType) and op is ast.MatchOp.CONTAINS:
        return is_in(unit, needle, haystack)
    if not comparison.is_text(haystack.dtype):
        unit.report(comparison.no_haystack(op.value, haystack))
        return None
    if not comparison.is_text(needle.dtype):
        unit.report(comparison.no_needle(op.value, needle))
        return None
    if op is ast.MatchOp.MATCHES and not check_text_pattern(unit, needle):
        return None
    return ir.StringMatch(_STRING_OPS[op], haystack.expr, needle.expr)


def is_in(unit: CompilationUnit, item: TypedOperand, options: TypedOperand) -> ir.Expr | None:
    """Whether a list parameter, a list property or a list of constants holds the item."""
    if not isinstance(options.dtype, ListType):
        unit.report(comparison.no_list(options))
        return None
    if unit.fails(comparison.check_null(item) or comparison.check_single(item)):
        return None
    held = ScalarType(options.dtype.item)
    fitted = _beside(unit, item, held)
    if fitted is None:
        return None
    assert fitted.dtype is not None  # noqa: S101 - narrowing; a single value has a type
    if not comparison.comparable(fitted.dtype, held):
        unit.report(comparison.wrong_item(fitted, options))
        return None
    if isinstance(options.expr, ir.PropertyRef):
        return ir.ListContains(options.expr, fitted.expr)
    return ir.InList(fitted.expr, options.expr)


def is_in_items(
    unit: CompilationUnit, item: TypedOperand, options: Sequence[TypedOperand]
) -> ir.InList | None:
    """Whether the item is one of those that are written out."""
    if unit.fails(comparison.check_null(item) or comparison.check_single(item)):
        return None
    dtype = item.dtype
    assert dtype is not None  # noqa: S101 - narrowing; a single value has a type
    fitted = [_option(unit, option, dtype) for option in options]
    possible = [option for option in fitted if option is not None]
    if len(possible) < len(options):
        return None
    # A number that the item's type cannot hold is equal to none of its values.
    if not isinstance(item.expr, ir.Const):
        possible = [option for option in possible if not _is_impossible(option, dtype)]
    return ir.InList(item.expr, make_list(possible, empty=dtype))


def is_null(unit: CompilationUnit, operand: TypedOperand, *, negated: bool) -> ir.IsNull | None:
    """``is null``, ``is not null``."""
    if isinstance(operand.expr, ir.EntityRef):
        ref = operand.expr
        identity = ir.PropertyRef(ref.slot, "@id", STRING, ref.nullable)
        return ir.IsNull(identity, negated)
    if operand.dtype is None:
        unit.report(comparison.entity(operand.span))
        return None
    return ir.IsNull(operand.expr, negated)


def _option(unit: CompilationUnit, option: TypedOperand, dtype: DataType) -> TypedOperand | None:
    if unit.fails(comparison.check_single(option)):
        return None
    fitted = _beside(unit, option, dtype)
    if fitted is None:
        return None
    assert fitted.dtype is not None  # noqa: S101 - narrowing; a single value has a type
    if comparison.comparable(dtype, fitted.dtype):
        return fitted
    unit.report(comparison.other_option(fitted, dtype))
    return None


def _is_impossible(option: TypedOperand, dtype: DataType) -> bool:
    return isinstance(option.expr, ir.Const) and is_numeric(dtype) and option.dtype != dtype


def _fitted(
    unit: CompilationUnit, left: TypedOperand, right: TypedOperand
) -> tuple[TypedOperand, TypedOperand] | None:
    """Both sides, a literal fitted to the other one; of two literals, the one that can be."""
    left_type, right_type = left.dtype, right.dtype
    assert left_type is not None  # noqa: S101 - narrowing; single values have types
    assert right_type is not None  # noqa: S101 - narrowing; single values have types
    if isinstance(right.expr, ir.Const):
        if isinstance(left.expr, ir.Const):
            fitted = compared_with(left.expr, right_type)
            if not isinstance(fitted, LiteralMismatch):
                return TypedOperand(fitted, left.span), right
        beside = _beside(unit, right, left_type)
        return None if beside is None else (left, beside)
    beside = _beside(unit, left, right_type)
    return None if beside is None else (beside, right)


def _beside(unit: CompilationUnit, operand: TypedOperand, dtype: DataType) -> TypedOperand | None:
    """The operand, fitted if it is a literal."""
    if not isinstance(operand.expr, ir.Const):
        return operand
    fitted = compared_with(operand.expr, dtype)
    if isinstance(fitted, LiteralMismatch):
        unit.report(comparison.misfit(dtype, operand.span, fitted))
        return None
    return TypedOperand(fitted, operand.span)
