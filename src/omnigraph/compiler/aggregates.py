"""Aggregates, over the rows of the result and over those of a block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules import aggregate_operand
from omnigraph.datatypes.types import F64, FLOATS, I64, DataType, ScalarType
from omnigraph.ir.expressions import AggregateFunc

if TYPE_CHECKING:
    from omnigraph.compiler.operands import TypedOperand
    from omnigraph.compiler.unit import CompilationUnit
    from omnigraph.language.source import Span

__all__ = ["fold_type"]


def fold_type(
    unit: CompilationUnit,
    func: AggregateFunc,
    operand: TypedOperand | None,
    *,
    distinct: bool,
    span: Span,
) -> DataType | None:
    """The type of the folded value, or None when the operand cannot be folded."""
    if operand is None:
        if func is AggregateFunc.COUNT:
            return I64
        unit.report(aggregate_operand.nothing_to_fold(func, span))
        return None
    if unit.fails(aggregate_operand.check(func, operand, distinct=distinct)):
        return None
    match func:
        case AggregateFunc.COUNT:
            return I64
        case AggregateFunc.AVG:
            return F64
        case AggregateFunc.SUM:
            return F64 if _is_float(operand.dtype) else I64
        case AggregateFunc.MIN | AggregateFunc.MAX:
            return operand.dtype


def _is_float(dtype: DataType | None) -> bool:
    return isinstance(dtype, ScalarType) and dtype.scalar in FLOATS
