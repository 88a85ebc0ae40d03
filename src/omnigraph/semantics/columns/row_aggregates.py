"""Aggregates that need whole rows: collected lists, extremes by a key, percentiles, deviations.

None of them depends on the order of the rows: lists are in the order of their values, of several
rows with an extreme key the least value wins, and deviations are summed exactly.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from omnigraph.datatypes.types import F64
from omnigraph.errors import InvalidInput, InvariantBroken
from omnigraph.ir.expressions import Aggregate, AggregateFunc
from omnigraph.semantics.columns.aggregates import distinct_values, exact_sums, fold_groups
from omnigraph.semantics.columns.codes import dense
from omnigraph.semantics.columns.column import Column, Vector

if TYPE_CHECKING:
    import numpy.typing as npt

    from omnigraph.ir.expressions import BlockAggregate

    Ints = npt.NDArray[np.int64]

__all__ = ["WHOLE_ROWS", "check_share", "fold_whole_rows"]

WHOLE_ROWS = frozenset(
    {
        AggregateFunc.COLLECT,
        AggregateFunc.MIN_BY,
        AggregateFunc.MAX_BY,
        AggregateFunc.PERCENTILE,
        AggregateFunc.STDDEV,
        AggregateFunc.STDDEV_POP,
    }
)


def check_share(share: Any) -> float:
    """The share of a percentile, between 0 and 1."""
    if isinstance(share, int | float) and 0 <= share <= 1:
        return float(share)
    raise InvalidInput(
        "query.bad_percentile",
        f"a percentile is a share between 0 and 1, not {share!r}",
        remedy="write 0.5 for the median",
    )


def fold_whole_rows(
    fold: Aggregate | BlockAggregate,
    values: Vector,
    parameter: Vector | Any,
    groups: Ints,
    count: int,
) -> Vector:
    """One value per group; ``parameter`` is the key of each row, or a share."""
    keys = parameter if isinstance(parameter, Vector) else None
    present = _present(values, keys)
    if present is not None:
        values, groups = values.take(present), groups[present]
        keys = None if keys is None else keys.take(present)
    if fold.distinct and keys is None:
        chosen = distinct_values(values, groups)
        values, groups = values.take(chosen), groups[chosen]
    match fold.func:
        case AggregateFunc.COLLECT:
            return _collected(values, groups, count)
        case AggregateFunc.MIN_BY | AggregateFunc.MAX_BY if keys is not None:
            return _by_key(values, keys, groups, count, largest=fold.func is AggregateFunc.MAX_BY)
        case AggregateFunc.PERCENTILE:
            return _percentiles(values, check_share(parameter), groups, count)
        case AggregateFunc.STDDEV | AggregateFunc.STDDEV_POP:
            return _deviations(values, groups, count, int(fold.func is AggregateFunc.STDDEV))
        case _:
            raise InvariantBroken(10, f"{fold.func} needs no whole rows")


def _present(values: Vector, keys: Vector | None) -> Ints | None:
    """The rows without a NULL; None if no row has one."""
    masks = [each.nulls() for each in (values, keys) if each is not None]
    nulls = [mask for mask in masks if mask is not None]
    return np.flatnonzero(~np.logical_or.reduce(nulls)) if nulls else None


def _ordered_rows(values: Vector, groups: Ints, count: int) -> tuple[Ints, Ints]:
    """Rows by group and value, and the offset of each group."""
    order = np.lexsort((values.ordered().codes, groups))
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(groups, minlength=count), out=offsets[1:])
    return order, offsets


def _collected(values: Vector, groups: Ints, count: int) -> Vector:
    order, offsets = _ordered_rows(values, groups, count)
    items = values.take(order).arrow()
    return Vector(Column(pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items)))


def _by_key(values: Vector, keys: Vector, groups: Ints, count: int, *, largest: bool) -> Vector:
    codes = dense(keys.ordered().codes)[0]
    order = np.lexsort((values.ordered().codes, -codes if largest else codes, groups))
    sizes = np.bincount(groups, minlength=count)
    starts = np.cumsum(sizes) - sizes
    full = sizes > 0
    chosen = np.zeros(count, np.int64)
    chosen[full] = order[starts[full]]
    return Vector(Column(values.arrow().take(pa.array(chosen, mask=~full))))


def _percentiles(values: Vector, share: float, groups: Ints, count: int) -> Vector:
    order, offsets = _ordered_rows(values, groups, count)
    numbers = values.numbers().astype(np.float64)[order].tolist()
    cells = [
        _percentile(numbers[start:end], share)
        for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    ]
    return Vector(Column(pa.array(cells, pa.float64())))


def _percentile(ordered: list[float], share: float) -> float | None:
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    one, other = ordered[low], ordered[min(low + 1, len(ordered) - 1)]
    return one if one == other or place == low else one + (other - one) * (place - low)


def _deviations(values: Vector, groups: Ints, count: int, less: int) -> Vector:
    mean = Aggregate(AggregateFunc.AVG, None, distinct=False, dtype=F64)
    means = fold_groups(mean, values, groups, count).numbers()
    with np.errstate(all="ignore"):
        squares = (values.numbers().astype(np.float64) - means[groups]) ** 2
    sizes = np.bincount(groups, minlength=count).tolist()
    sums = exact_sums(squares, groups, count)
    cells = [
        math.sqrt(total / (size - less)) if size > less else None
        for total, size in zip(sums, sizes, strict=True)
    ]
    return Vector(Column(pa.array(cells, pa.float64())))
