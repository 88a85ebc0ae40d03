"""Groups of rows by keys, and aggregates over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from omnigraph.errors import InvariantBroken
from omnigraph.executor.rows.keys import packed
from omnigraph.frozen import frozen
from omnigraph.ir.expressions import AggregateFunc, EntityRef
from omnigraph.planner.plan import counts_rows
from omnigraph.semantics.columns.aggregates import count_rows, partial_fold
from omnigraph.semantics.columns.codes import dense
from omnigraph.semantics.columns.column import Column, Vector
from omnigraph.semantics.columns.row_aggregates import WHOLE_ROWS, fold_whole_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from omnigraph.executor.rows.bindings import Bindings
    from omnigraph.executor.run import PlanRun
    from omnigraph.ir.expressions import Aggregate, BlockAggregate, Expr, Slot
    from omnigraph.semantics.columns.aggregates import PartialFold

    Ints = npt.NDArray[np.int64]

__all__ = [
    "Grouping",
    "entity_ranks",
    "fold_rows",
    "group_rows",
    "key_codes",
    "key_values",
    "partial_fold_rows",
]


_ZERO = np.zeros(1, np.int64)


@frozen
class Grouping:
    """The group of each row, the number of groups, and the first row of each group. Groups are in
    the order of their keys."""

    groups: Ints
    count: int
    first: Ints


def group_rows(keys: Sequence[Expr], rows: Bindings, run: PlanRun) -> Grouping:
    """Group rows by keys; without keys all rows are one group."""
    if not keys:
        count = min(rows.count, 1)
        # The same zero for every row, without memory for each of them.
        return Grouping(np.broadcast_to(_ZERO, rows.count), count, np.zeros(count, np.int64))
    key = packed([key_codes(expr, rows, run) for expr in keys], rows.count)
    groups, count = dense(key) if rows.count else (key, 0)
    first = np.empty(count, np.int64)
    first[groups[::-1]] = np.arange(rows.count - 1, -1, -1)
    return Grouping(groups, count, first)


def fold_rows(
    fold: Aggregate | BlockAggregate, rows: Bindings, run: PlanRun, *, groups: Ints, count: int
) -> Vector:
    """An aggregate over the rows of each group."""
    if counts_rows(fold):
        if count == 1:
            # Rows without slots may be more than there is memory for an array of them.
            return Vector(Column.of_cells([rows.count], pa.int64()))
        return count_rows(groups, count)
    if fold.func in WHOLE_ROWS and fold.operand is not None:
        values = run.vector(fold.operand, rows)
        return fold_whole_rows(fold, values, _parameter(fold, rows, run), groups, count)
    return partial_fold_rows(fold, rows, run, groups=groups, count=count).result()


def _parameter(fold: Aggregate | BlockAggregate, rows: Bindings, run: PlanRun) -> object:
    """The keys of the rows, or the share of a percentile."""
    if fold.parameter is None:
        return None
    if fold.func is AggregateFunc.PERCENTILE:
        return run.constant(fold.parameter)
    return run.vector(fold.parameter, rows)


def partial_fold_rows(
    fold: Aggregate | BlockAggregate, rows: Bindings, run: PlanRun, *, groups: Ints, count: int
) -> PartialFold:
    """An aggregate of values over the rows of each group, before rows are multiplied."""
    match fold.operand:
        case None:
            raise InvariantBroken(10, "an aggregate of values has no operand")
        case EntityRef(slot):
            # An entity is its row.
            numbers = rows.columns[slot]
            missing = numbers < 0 if slot in run.nullable else None
            values = Vector(Column(pa.array(numbers, mask=missing)))
        case operand:
            values = run.vector(operand, rows)
    return partial_fold(fold, values, groups, count)


def key_codes(expr: Expr, rows: Bindings, run: PlanRun) -> Ints:
    """Numbers in the order of the values, NULL before all."""
    if isinstance(expr, EntityRef):
        return entity_ranks(expr.slot, rows, run)
    ordered = run.vector(expr, rows).ordered()
    codes = dense(ordered.codes)[0]
    return codes if ordered.nulls is None else np.where(ordered.nulls, -1, codes)


def entity_ranks(slot: Slot, rows: Bindings, run: PlanRun) -> Ints:
    """Numbers in the order of the ids of entities, NULL before all."""
    numbers = rows.columns[slot]
    present = numbers >= 0
    if slot not in run.nullable or present.all():
        return dense(run.space_of(slot).ranks(numbers))[0]
    ranks = np.full(rows.count, -1, np.int64)
    known = np.flatnonzero(present)
    if len(known):
        ranks[known] = dense(run.space_of(slot).ranks(numbers[known]))[0]
    return ranks


def key_values(expr: Expr, rows: Bindings, run: PlanRun) -> Vector:
    """The values of a key that is no entity. Both zeros are one value, and one of them is shown."""
    values = run.vector(expr, rows)
    array = values.arrow()
    if pa.types.is_floating(array.type):
        zero = values.numbers() + values.numbers().dtype.type(0)
        return Vector(Column(pa.array(zero, mask=values.nulls())))
    return Vector(Column(array))
