"""T8: an aggregate folds values of a type that it can fold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.operands import TypedOperand, describe
from omnigraph.compiler.rules.rule import Rule
from omnigraph.datatypes.types import (
    DATE,
    DATETIME,
    STRING,
    DataType,
    ListType,
    VectorType,
    is_numeric,
)
from omnigraph.ir.expressions import AggregateFunc

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

RULE = Rule("T8", "An aggregate folds values of a type that it can fold.")

_ORDERED = (STRING, DATE, DATETIME)


def check(func: AggregateFunc, operand: TypedOperand, *, distinct: bool) -> Diagnostic | None:
    """sum and avg take numbers; min and max what has an order; count anything."""
    dtype = operand.dtype
    if func is AggregateFunc.COUNT:
        if distinct and isinstance(dtype, ListType | VectorType):
            return _broken(operand, "`count(distinct …)` compares single values", "a single value")
        return None
    if func in (AggregateFunc.COLLECT, AggregateFunc.MIN_BY, AggregateFunc.MAX_BY):
        if dtype is None or isinstance(dtype, ListType | VectorType):
            return _broken(operand, f"`{func}` takes single values", "a single value")
        return None
    if func not in (AggregateFunc.MIN, AggregateFunc.MAX):
        if dtype is None or not is_numeric(dtype):
            return _broken(operand, f"`{func}` takes numbers", "a number")
        return None
    if dtype is None or not _has_order(dtype):
        return _broken(
            operand,
            f"`{func}` takes numbers, strings, dates and datetimes",
            "a value with an order",
        )
    return None


def check_key(func: AggregateFunc, key: TypedOperand) -> Diagnostic | None:
    """Rows are compared by a key with an order."""
    if key.dtype is not None and _has_order(key.dtype):
        return None
    return _broken(
        key,
        f"`{func}` compares rows by a number, String, date or datetime",
        "a value with an order",
    )


def nothing_to_fold(func: AggregateFunc, span: Span) -> Diagnostic:
    """Only rows can be counted without naming a value."""
    return RULE.broken(span, f"`{func}` needs a value to fold", f"name one: `{func}($x.property)`")


def _has_order(dtype: DataType) -> bool:
    return is_numeric(dtype) or dtype in _ORDERED


def _broken(operand: TypedOperand, wanted: str, holding: str) -> Diagnostic:
    return RULE.broken(
        operand.span,
        f"{wanted}, and this is {describe(operand)}",
        f"name a property that holds {holding}; `count` without `distinct` takes anything",
    )
