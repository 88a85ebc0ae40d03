"""Aggregates of a list of values: NULLs are skipped.

The count of nothing is 0, a list of nothing is empty, every other aggregate of nothing is NULL.
Sums and means are exact and rounded once.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any

from omnigraph.ir.expressions import AggregateFunc
from omnigraph.testing.reference.graph import Refused
from omnigraph.testing.reference.values import order

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["aggregate", "aggregate_with"]

_I64 = range(-(2**63), 2**63)
_KEY = cmp_to_key(order)


def aggregate(func: AggregateFunc, values: Sequence[Any], *, distinct: bool) -> Any:
    """Aggregate the values of a group."""
    present = [value for value in values if value is not None]
    if distinct:
        present = _distinct(present)
    if func is AggregateFunc.COUNT:
        return len(present)
    if func is AggregateFunc.COLLECT:
        return sorted(present, key=_KEY)
    return _AGGREGATES[func](present) if present else None


def aggregate_with(
    func: AggregateFunc, values: Sequence[Any], parameters: Sequence[Any], *, distinct: bool
) -> Any:
    """Aggregate values by a key of each row, or by a share that all rows have."""
    if func is AggregateFunc.PERCENTILE:
        present = [value for value in values if value is not None]
        return _percentile(_distinct(present) if distinct else present, [*parameters, None][0])
    pairs = [
        (key, value)
        for value, key in zip(values, parameters, strict=True)
        if value is not None and key is not None
    ]
    if not pairs:
        return None
    keys = [key for key, _ in pairs]
    best = _least(keys) if func is AggregateFunc.MIN_BY else _greatest(keys)
    return _least([value for key, value in pairs if order(key, best) == 0])


def _percentile(values: list[Any], share: Any) -> float | None:
    if share is not None and not 0 <= share <= 1:
        raise Refused("query.bad_percentile")
    if not values:
        return None
    ordered = [float(value) for value in sorted(values, key=_KEY)]
    place = float(share) * (len(ordered) - 1)
    low = int(place)
    if low == place or ordered[low] == ordered[low + 1]:
        return ordered[low]
    return ordered[low] + (ordered[low + 1] - ordered[low]) * (place - low)


def _stddev(values: list[Any], less: int) -> float | None:
    if len(values) <= less:
        return None
    mean = _mean(values)
    squares = [_square(float(value) - mean) for value in values]
    total = _sum(squares)
    return math.sqrt(total / (len(values) - less))


def _square(number: float) -> float:
    return number * number


def _distinct(values: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for value in sorted(values, key=_KEY):
        if not kept or order(kept[-1], value):
            kept.append(value)
    return kept


def _sum(values: list[Any]) -> Any:
    special = _special(values)
    if special is not None:
        return special
    total = sum(map(Fraction, values))
    if any(isinstance(value, float) for value in values):
        return _nearest_float(total)
    if int(total) not in _I64:
        raise Refused("query.sum_overflow")
    return int(total)


def _mean(values: list[Any]) -> float:
    special = _special(values)
    if special is not None:
        return special
    return _nearest_float(sum(map(Fraction, values)) / Fraction(len(values)))


def _special(values: list[Any]) -> float | None:
    """Return the total where NaN or an infinity decides it."""
    names = {str(value) for value in values if isinstance(value, float)}
    if "nan" in names or {"inf", "-inf"} <= names:
        return float("nan")
    return next((float(name) for name in ("inf", "-inf") if name in names), None)


def _nearest_float(exact: Fraction | int) -> float:
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")


def _least(values: list[Any]) -> Any:
    return sorted(values, key=_KEY)[0]


def _greatest(values: list[Any]) -> Any:
    return sorted(values, key=_KEY)[-1]


_AGGREGATES: dict[AggregateFunc, Callable[[list[Any]], Any]] = {
    AggregateFunc.SUM: _sum,
    AggregateFunc.AVG: _mean,
    AggregateFunc.MIN: _least,
    AggregateFunc.MAX: _greatest,
    AggregateFunc.STDDEV: lambda values: _stddev(values, 1),
    AggregateFunc.STDDEV_POP: lambda values: _stddev(values, 0),
}
