"""Aggregates over groups of many rows, exact as ``semantics.aggregates`` defines them.

Integers are summed without wrapping. Floats are summed without error and rounded once, so that the
result does not depend on the order of the rows: each pass splits off the leading bits of all
values, few enough that their sums are exact, until nothing is left. A mean is the exact total
divided by the count and rounded once, so it is finite wherever the values are.

Rows may stand for several equal ones (``times``), as those of a factorised product do: counts and
sums are multiplied, and everything else stays. A ``PartialFold`` has the aggregate of each group
before that, so that one group can become part of several groups of a product.
"""

from __future__ import annotations

import math
from operator import mul, truediv
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from omnigraph.datatypes.arrow import arrow_type
from omnigraph.datatypes.types import INTEGER_RANGES, ScalarType
from omnigraph.errors import InvariantBroken, LimitExceeded
from omnigraph.frozen import frozen
from omnigraph.ir.expressions import AggregateFunc
from omnigraph.semantics.columns.codes import dense
from omnigraph.semantics.columns.column import Column, Vector
from omnigraph.semantics.columns.multiplicities import multiplied

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from omnigraph.datatypes.types import DataType
    from omnigraph.ir.expressions import Aggregate, BlockAggregate
    from omnigraph.semantics.columns.multiplicities import Multiplicity

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

__all__ = [
    "PartialFold",
    "count_rows",
    "distinct_values",
    "exact_sums",
    "fold_groups",
    "partial_fold",
]

_EXACT = 2**53
_LIMB_BITS = 22
_LIMB = 2**_LIMB_BITS - 1
# Beyond this many passes the values are so far apart that adding them one by one is quicker.
_PASSES_MAX = 8
_HUGE = 2.0**990


class PartialFold(Protocol):
    """The aggregate of each group of one component."""

    def result(self, places: Ints | None = None, times: Multiplicity = 1) -> Vector:
        """The aggregates of groups whose rows stand for several: ``places`` are the groups, in the
        order of the result, None for all of them in order."""
        ...


def count_rows(groups: Ints, count: int, times: Multiplicity = 1) -> Vector:
    """How many rows each group has."""
    return _Counts(np.bincount(groups, minlength=count)).result(None, times)


def fold_groups(
    fold: Aggregate | BlockAggregate,
    values: Vector,
    groups: Ints,
    count: int,
    times: Multiplicity = 1,
) -> Vector:
    """One value per group; ``groups`` has the group of each value."""
    return partial_fold(fold, values, groups, count).result(None, times)


def partial_fold(
    fold: Aggregate | BlockAggregate, values: Vector, groups: Ints, count: int
) -> PartialFold:
    """Aggregate each group; NULLs are left out."""
    nulls = values.nulls()
    if nulls is not None:
        present = np.flatnonzero(~nulls)
        values, groups = values.take(present), groups[present]
    if fold.distinct:
        chosen = distinct_values(values, groups)
        values, groups = values.take(chosen), groups[chosen]
    match fold.func:
        case AggregateFunc.COUNT:
            counts = np.bincount(groups, minlength=count)
            return _Counts(counts, repeats=not fold.distinct)
        case AggregateFunc.MIN | AggregateFunc.MAX:
            largest = fold.func is AggregateFunc.MAX
            return _Fixed(_extremes(values, groups, count, largest=largest))
        case AggregateFunc.SUM | AggregateFunc.AVG:
            return _totals(fold, values, groups, count)
        case _:
            raise InvariantBroken(10, f"{fold.func} is an aggregate of whole rows")


@frozen
class _Fixed:
    """Values that do not depend on how often a row occurs."""

    values: Vector

    def result(self, places: Ints | None = None, times: Multiplicity = 1) -> Vector:  # noqa: ARG002 - as the protocol has it
        return self.values if places is None else self.values.take(places)


@frozen
class _Counts:
    """Counts; ``repeats``: a row that stands for several counts as several."""

    counts: Ints
    repeats: bool = True

    def result(self, places: Ints | None = None, times: Multiplicity = 1) -> Vector:
        counts = self.counts if places is None else self.counts[places]
        counts = multiplied(counts, times) if self.repeats else counts
        return Vector(Column(pa.array(counts, pa.int64())))


@frozen
class _Sums:
    """Exact totals, rounded and checked against the type of the sum at the end."""

    fold: Aggregate | BlockAggregate
    sizes: list[int]
    totals: Sequence[Any]
    rounded: Callable[[Any, int], float]

    def result(self, places: Ints | None = None, times: Multiplicity = 1) -> Vector:
        chosen = range(len(self.sizes)) if places is None else places.tolist()
        each = 1 if self.fold.distinct else times
        factors = [each] * len(chosen) if isinstance(each, int) else each.tolist()
        dtype, sizes, totals = self.fold.dtype, self.sizes, self.totals
        cells: list[Any] = [
            _within(self.rounded(totals[group], factor), dtype) if sizes[group] else None
            for group, factor in zip(chosen, factors, strict=True)
        ]
        return Vector(Column(pa.array(cells, arrow_type(dtype))))


def _within(total: float, dtype: DataType) -> float:
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


def distinct_values(values: Vector, groups: Ints) -> Ints:
    """The places of one value of each kind in each group."""
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


def _totals(
    fold: Aggregate | BlockAggregate, values: Vector, groups: Ints, count: int
) -> PartialFold:
    numbers = values.numbers()
    sizes = np.bincount(groups, minlength=count).tolist()
    rounded: tuple[Callable[[Any, int], float], Callable[[Any, int], float]]
    if numbers.dtype.kind == "f":
        found: Sequence[Any] = _float_parts(numbers.astype(np.float64), groups, count)
        rounded = _sum, _mean
    elif numbers.dtype.kind in "iu":
        found = _integer_totals(numbers, groups, count)
        rounded = mul, truediv
    else:
        raise InvariantBroken(10, f"{numbers.dtype} cannot be summed")
    if fold.func is AggregateFunc.SUM:
        return _Sums(fold, sizes, found, rounded[0])
    cells = [
        rounded[1](each, size) if size else None for each, size in zip(found, sizes, strict=True)
    ]
    return _Fixed(Vector(Column(pa.array(cells, arrow_type(fold.dtype)))))


def exact_sums(values: Floats, groups: Ints, count: int) -> list[float]:
    """The sum of the floats of each group, rounded once."""
    return [_sum(parts, 1) for parts in _float_parts(values, groups, count)]


def _sum(parts: Sequence[float], times: int) -> float:
    if times == 1:
        try:
            return math.fsum(parts)
        except (OverflowError, ValueError):
            # The total, or a part of it, is beyond the floats, or a value is.
            pass
    return _quotient(parts, times, 1)


def _mean(parts: Sequence[float], size: int) -> float:
    return parts[0] / size if len(parts) == 1 else _quotient(parts, 1, size)


def _quotient(parts: Sequence[float], times: int, size: int) -> float:
    """The exact total of the parts, times one number and by another, rounded once."""
    if not all(map(math.isfinite, parts)):
        return sum(part for part in parts if not math.isfinite(part))
    above, below = 0, 1
    for part in parts:
        # Denominators are powers of two.
        numerator, denominator = part.as_integer_ratio()
        if denominator > below:
            above, below = above * (denominator // below), denominator
        above += numerator * (below // denominator)
    try:
        # Python divides integers of any size exactly and rounds once.
        return (above * times) / (below * size)
    except OverflowError:
        return math.inf if above > 0 else -math.inf


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


def _float_parts(values: Floats, groups: Ints, count: int) -> Sequence[Sequence[float]]:
    """For each group a few floats whose exact sum is its total."""
    parts: list[Floats] = []
    largest = float(np.abs(values).max()) if len(values) else 0.0
    if not largest < _HUGE:
        return _cells(values, groups, count)
    bits = len(values).bit_length() + 1
    rest = values
    while largest > 0.0:
        if len(parts) == _PASSES_MAX:
            return _cells(values, groups, count)
        sigma = math.ldexp(1.0, math.frexp(largest)[1] + bits)
        leading = (rest + sigma) - sigma
        parts.append(np.bincount(groups, leading, count).astype(np.float64, copy=False))
        rest = rest - leading
        largest = float(np.abs(rest).max())
    return list(zip(*(part.tolist() for part in parts or [np.zeros(count)]), strict=True))


def _cells(values: Floats, groups: Ints, count: int) -> Sequence[Sequence[float]]:
    """The values of each group: infinities, NaN, and numbers near the end of the floats."""
    cells: list[list[float]] = [[] for _ in range(count)]
    for group, value in zip(groups.tolist(), values.tolist(), strict=True):
        cells[group].append(value)
    return cells
