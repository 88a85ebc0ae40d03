"""Aggregates over groups of many rows, exact as ``naive.aggregates`` defines them.

Integers are summed without wrapping. Floats are summed without error and rounded once, so that the
result does not depend on the order of the rows: each pass splits off the leading bits of all
values, few enough that their sums are exact, until nothing is left.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from omnigraph.datatypes.arrow import arrow_type
from omnigraph.errors import InvariantBroken
from omnigraph.executor.column import Column, Vector
from omnigraph.executor.keys import dense
from omnigraph.executor.naive.aggregates import fold as fold_values
from omnigraph.executor.naive.aggregates import within
from omnigraph.ir.expressions import AggregateFunc

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from omnigraph.ir.expressions import Aggregate, BlockAggregate

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

__all__ = ["count_rows", "fold_groups"]

_EXACT = 2**53
_LIMB_BITS = 22
_LIMB = 2**_LIMB_BITS - 1
# Beyond this many passes the values are so far apart that adding them one by one is quicker.
_PASSES_MAX = 8
_HUGE = 2.0**990


def count_rows(groups: Ints, count: int) -> Vector:
    """How many rows each group has."""
    return Vector(Column(pa.array(np.bincount(groups, minlength=count), pa.int64())))


def fold_groups(
    fold: Aggregate | BlockAggregate, values: Vector, groups: Ints, count: int
) -> Vector:
    """One value per group; ``groups`` says to which group each value belongs."""
    nulls = values.nulls()
    if nulls is not None:
        present = np.flatnonzero(~nulls)
        values, groups = values.take(present), groups[present]
    if fold.distinct:
        chosen = _distinct(values, groups)
        values, groups = values.take(chosen), groups[chosen]
    match fold.func:
        case AggregateFunc.COUNT:
            return count_rows(groups, count)
        case AggregateFunc.MIN | AggregateFunc.MAX:
            return _extremes(values, groups, count, largest=fold.func is AggregateFunc.MAX)
        case AggregateFunc.SUM | AggregateFunc.AVG:
            return _totals(fold, values, groups, count)


def _distinct(values: Vector, groups: Ints) -> Ints:
    codes, size = dense(values.ordered().codes)
    first: Ints = np.unique(groups * size + codes, return_index=True)[1]
    return first


def _extremes(values: Vector, groups: Ints, count: int, *, largest: bool) -> Vector:
    order = np.lexsort((values.ordered().codes, groups))
    ends = np.cumsum(np.bincount(groups, minlength=count))
    sizes = np.diff(ends, prepend=0)
    places = ends - 1 if largest else ends - sizes
    full = sizes > 0
    chosen = np.full(count, -1, np.int64)
    chosen[full] = order[places[full]]
    taken = values.arrow().take(pa.array(chosen, mask=~full))
    return Vector(Column(taken))


def _totals(fold: Aggregate | BlockAggregate, values: Vector, groups: Ints, count: int) -> Vector:
    numbers = values.numbers()
    sizes = np.bincount(groups, minlength=count)
    if numbers.dtype.kind == "f":
        totals: Sequence[float] = _float_totals(fold, numbers.astype(np.float64), groups, count)
    elif numbers.dtype.kind in "iu":
        totals = _integer_totals(numbers, groups, count)
    else:
        raise InvariantBroken(10, f"{numbers.dtype} cannot be summed")
    cells: list[Any] = [
        _total(fold, total, size) for total, size in zip(totals, sizes.tolist(), strict=True)
    ]
    return Vector(Column(pa.array(cells, arrow_type(fold.dtype))))


def _total(fold: Aggregate | BlockAggregate, total: float, size: int) -> float | None:
    if not size:
        return None
    return total / size if fold.func is AggregateFunc.AVG else within(total, fold.dtype)


def _integer_totals(numbers: np.ndarray, groups: Ints, count: int) -> list[int]:
    """Sums of integers of any size; a sum of floats is exact while it stays below 2 ** 53."""
    if not len(numbers):
        return [0] * count
    largest = max(abs(int(numbers.min())), abs(int(numbers.max())))
    if largest * len(numbers) < _EXACT:
        return _bincount(groups, numbers, count)
    wide = numbers if numbers.dtype == np.uint64 else numbers.astype(np.int64)
    shift, limb = wide.dtype.type(_LIMB_BITS), wide.dtype.type(_LIMB)
    low = _bincount(groups, wide & limb, count)
    middle = _bincount(groups, (wide >> shift) & limb, count)
    high = _bincount(groups, wide >> shift >> shift, count)
    return [
        one + (two << _LIMB_BITS) + (three << 2 * _LIMB_BITS)
        for one, two, three in zip(low, middle, high, strict=True)
    ]


def _bincount(groups: Ints, weights: np.ndarray, count: int) -> list[int]:
    sums = np.bincount(groups, weights=weights, minlength=count)
    found: list[int] = sums.astype(np.int64).tolist()
    return found


def _float_totals(
    fold: Aggregate | BlockAggregate, values: Floats, groups: Ints, count: int
) -> list[float]:
    parts: list[Floats] = []
    largest = float(np.abs(values).max()) if len(values) else 0.0
    if not largest < _HUGE:
        return _one_by_one(fold, values, groups, count)
    bits = len(values).bit_length() + 1
    rest = values
    while largest > 0.0:
        if len(parts) == _PASSES_MAX:
            return _one_by_one(fold, values, groups, count)
        sigma = math.ldexp(1.0, math.frexp(largest)[1] + bits)
        leading = (rest + sigma) - sigma
        parts.append(np.bincount(groups, leading, count).astype(np.float64, copy=False))
        rest = rest - leading
        largest = float(np.abs(rest).max())
    if len(parts) <= 1:
        exact: list[float] = parts[0].tolist() if parts else [0.0] * count
        return exact
    return [math.fsum(each) for each in zip(*(part.tolist() for part in parts), strict=True)]


def _one_by_one(
    fold: Aggregate | BlockAggregate, values: Floats, groups: Ints, count: int
) -> list[float]:
    """Infinities, NaN and numbers near the end of the floats."""
    cells: list[list[Any]] = [[] for _ in range(count)]
    for group, value in zip(groups.tolist(), values.tolist(), strict=True):
        cells[group].append(value)
    return [0.0 if not cell else _plain_total(fold, sorted(cell)) for cell in cells]


def _plain_total(fold: Aggregate | BlockAggregate, cell: list[Any]) -> float:
    total: Any = fold_values(AggregateFunc.SUM, cell, distinct=False, dtype=fold.dtype)
    return float(total)
