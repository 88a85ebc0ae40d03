"""One type for values that stand for each other, such as branches of ``case``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from omnigraph.compiler.literals import LiteralMismatch, stored_in
from omnigraph.compiler.operands import TypedOperand, is_null
from omnigraph.compiler.rules import common_type as rule
from omnigraph.compiler.rules.comparison import is_text
from omnigraph.datatypes.types import (
    F64,
    FLOATS,
    I64,
    STRING,
    DataType,
    ListType,
    Scalar,
    ScalarType,
    VectorType,
    is_numeric,
)
from omnigraph.ir import expressions as ir
from omnigraph.ir.functions import Function

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.compiler.unit import CompilationUnit

__all__ = ["Common", "common_type"]

_U64 = ScalarType(Scalar.U64)


@dataclass(slots=True)
class Common:
    """The common type, and the operands with literals fitted to it."""

    dtype: DataType
    operands: list[TypedOperand]


def common_type(
    unit: CompilationUnit, operands: Sequence[TypedOperand], word: str
) -> Common | None:
    """The type that all operands have, literals fitted to the others; None if there is none."""
    for operand in operands:
        if operand.dtype is None or isinstance(operand.dtype, VectorType):
            unit.report(rule.no_value(word, operand))
            return None
    fixed = [each for each in operands if not isinstance(each.expr, ir.Const)]
    typed = fixed or [each for each in operands if not is_null(each)]
    dtype = _joined([each.dtype for each in typed]) if typed else STRING
    if dtype is not None and fixed:
        widened = _joined([dtype, *(_widening(each, dtype) for each in operands)])
        dtype = widened or dtype
    if dtype is None:
        unit.report(rule.unlike(word, typed[0], _first_unlike(typed)))
        return None
    fitted = [_fitted(each, dtype) for each in operands]
    for operand, expr in zip(operands, fitted, strict=True):
        if expr is None:
            unit.report(rule.unlike(word, typed[0], operand))
            return None
    spans = (operand.span for operand in operands)
    pairs = zip(fitted, spans, strict=True)
    return Common(dtype, [TypedOperand(expr, span) for expr, span in pairs if expr is not None])


def _joined(types: Sequence[DataType | None]) -> DataType | None:
    """The narrowest type that holds the values of all."""
    found = {dtype for dtype in types if dtype is not None}
    if len(found) == 1:
        return found.pop()
    if all(map(is_numeric, found)):
        if any(isinstance(dtype, ScalarType) and dtype.scalar in FLOATS for dtype in found):
            return F64
        return None if _U64 in found else I64
    return STRING if all(map(is_text, found)) else None


def _widening(operand: TypedOperand, dtype: DataType) -> DataType | None:
    """The type of a literal number that the others' type cannot hold."""
    expr = operand.expr
    if not isinstance(expr, ir.Const) or expr.value is None or not is_numeric(dtype):
        return None
    if not is_numeric(expr.dtype):
        return None
    return expr.dtype if isinstance(stored_in(expr, dtype), LiteralMismatch) else None


def _fitted(operand: TypedOperand, dtype: DataType) -> ir.Expr | None:
    expr = operand.expr
    if isinstance(expr, ir.Const):
        fitted = stored_in(expr, dtype)
        if not isinstance(fitted, LiteralMismatch):
            return fitted
        return None
    given = operand.dtype
    if given == dtype or (given is not None and is_text(given) and is_text(dtype)):
        return expr
    if isinstance(dtype, ListType) or given is None or not is_numeric(given):
        return None
    return ir.Call(Function.CAST, (expr,), dtype) if is_numeric(dtype) else None


def _first_unlike(operands: Sequence[TypedOperand]) -> TypedOperand:
    for place in range(2, len(operands) + 1):
        if _joined([each.dtype for each in operands[:place]]) is None:
            return operands[place - 1]
    return operands[-1]
