"""Folds. NULLs are skipped; a count of nothing is 0, any other fold of nothing is NULL."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from omnigraph.datatypes.types import INTEGER_RANGES, DataType, ScalarType
from omnigraph.errors import LimitExceeded
from omnigraph.ir.expressions import AggregateFunc
from omnigraph.semantics.values import Entity, sort_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.ir.expressions import Value

__all__ = ["fold", "within"]


def fold(
    func: AggregateFunc, values: Iterable[Value | Entity], *, distinct: bool, dtype: DataType
) -> Value:
    """One value out of many; ``dtype`` is the type of the outcome."""
    present: list[Any] = [value for value in values if value is not None]
    if distinct:
        present = list({sort_key(value): value for value in present}.values())
    if func is AggregateFunc.COUNT:
        return len(present)
    if not present:
        return None
    match func:
        case AggregateFunc.SUM:
            return within(_total(present), dtype)
        case AggregateFunc.AVG:
            return _mean(present)
        case AggregateFunc.MIN:
            return min(present, key=sort_key)  # type: ignore[no-any-return]  # one of the values
        case AggregateFunc.MAX:
            return max(present, key=sort_key)  # type: ignore[no-any-return]  # one of the values


def _total(values: list[float]) -> float:
    """Exact: integers do not wrap, and floats are rounded once, whatever their order. A total
    beyond the floats is infinite."""
    if all(isinstance(value, int) for value in values):
        return sum(values)
    if not all(map(math.isfinite, values)):
        return _special_total(values)
    return _rounded(sum(map(Fraction, values), Fraction()))


def _mean(values: list[float]) -> float:
    """The exact mean, rounded once: it lies between the values, so it is finite if they are."""
    if not all(map(math.isfinite, values)):
        return _special_total(values)
    return _rounded(sum(map(Fraction, values), Fraction()) / len(values))


def _special_total(values: list[float]) -> float:
    """Infinities of one sign are that infinity; of both signs, or beside NaN, NaN."""
    return sum(value for value in values if not math.isfinite(value))


def _rounded(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def within(total: float, dtype: DataType) -> float:
    """The total, if its type can hold it."""
    bounds = INTEGER_RANGES.get(dtype.scalar) if isinstance(dtype, ScalarType) else None
    if bounds and not bounds[0] <= total <= bounds[1]:
        raise LimitExceeded(
            "query.sum_overflow",
            f"a sum of {total} does not fit its type",
            details={"sum": str(total)},
            remedy="sum fewer rows, or average them instead",
        )
    return total
