"""Aggregates, over the rows of the result and over those of a block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules import aggregate_operand, constant_argument
from omnigraph.datatypes.types import (
    F64,
    FLOATS,
    I64,
    DataType,
    ListType,
    Scalar,
    ScalarType,
    is_numeric,
)
from omnigraph.frozen import frozen
from omnigraph.ir.expressions import AggregateFunc, Const, ParamRef

if TYPE_CHECKING:
    from omnigraph.compiler.operands import TypedOperand
    from omnigraph.compiler.unit import CompilationUnit
    from omnigraph.ir.expressions import Expr
    from omnigraph.language.source import Span

__all__ = ["Folded", "fold_type"]


@frozen
class Folded:
    """An aggregate with its lowered operands."""

    func: AggregateFunc
    operand: TypedOperand | None
    parameter: TypedOperand | None
    distinct: bool
    span: Span


def fold_type(unit: CompilationUnit, folded: Folded) -> DataType | None:
    """The type of an aggregate, or None when its operand cannot be aggregated."""
    func, operand = folded.func, folded.operand
    if operand is None:
        if func is AggregateFunc.COUNT:
            return I64
        unit.report(aggregate_operand.nothing_to_fold(func, folded.span))
        return None
    if unit.fails(aggregate_operand.check(func, operand, distinct=folded.distinct)):
        return None
    if folded.parameter is not None and not _fits(unit, func, folded.parameter):
        return None
    return _result(func, operand.dtype)


def _result(func: AggregateFunc, dtype: DataType | None) -> DataType | None:
    match func:
        case AggregateFunc.COUNT:
            return I64
        case AggregateFunc.SUM:
            return F64 if _is_float(dtype) else I64
        case AggregateFunc.AVG | AggregateFunc.PERCENTILE:
            return F64
        case AggregateFunc.STDDEV | AggregateFunc.STDDEV_POP:
            return F64
        case AggregateFunc.COLLECT:
            return ListType(dtype.scalar if isinstance(dtype, ScalarType) else Scalar.STRING)
        case _:
            return dtype


def _fits(unit: CompilationUnit, func: AggregateFunc, parameter: TypedOperand) -> bool:
    """Whether the second argument of an aggregate has a type that it takes."""
    if func is not AggregateFunc.PERCENTILE:
        return not unit.fails(aggregate_operand.check_key(func, parameter))
    number = parameter.dtype is not None and is_numeric(parameter.dtype)
    known = isinstance(parameter.expr, Const | ParamRef)
    if number and known and not _is_beyond(parameter.expr):
        return True
    unit.report(constant_argument.share(parameter.span))
    return False


def _is_beyond(share: Expr) -> bool:
    value = share.value if isinstance(share, Const) else None
    return isinstance(value, int | float) and not 0 <= value <= 1


def _is_float(dtype: DataType | None) -> bool:
    return isinstance(dtype, ScalarType) and dtype.scalar in FLOATS
