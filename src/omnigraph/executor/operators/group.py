"""Rows folded into groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from omnigraph.executor.bindings import Bindings
from omnigraph.executor.column import Column, Vector
from omnigraph.executor.folds import count_rows, fold_groups
from omnigraph.executor.keys import dense, packed
from omnigraph.ir.expressions import Aggregate, BlockAggregate, EntityRef

if TYPE_CHECKING:
    import numpy.typing as npt

    from omnigraph.executor.run import Given, Run
    from omnigraph.ir.expressions import Expr
    from omnigraph.planner import plan

    Ints = npt.NDArray[np.int64]

__all__ = ["fold_rows", "run_group"]


def run_group(node: plan.Group, run: Run, given: Given) -> Bindings:
    """One row per group, in the order of the keys. What was folded is found by its expression."""
    rows = run.rows(node.input, given)
    if node.counts_rows:
        counted = Vector(Column.of_cells([rows.count], pa.int64()))
        return Bindings(1, {}, {id(fold): counted for fold in node.folds})
    if not node.keys:
        # Without keys there is one group, even of no rows, unless only distinct rows are wanted.
        count = 1 if node.folds else min(rows.count, 1)
        groups, first = np.zeros(rows.count, np.int64), np.zeros(min(rows.count, count), np.int64)
    else:
        key = packed([_codes(expr, rows, run) for expr in node.keys], rows.count)
        groups, count = dense(key) if rows.count else (key, 0)
        first = np.empty(count, np.int64)
        first[groups[::-1]] = np.arange(rows.count - 1, -1, -1)
    computed = {
        id(fold): fold_rows(fold, rows, run, groups=groups, count=count) for fold in node.folds
    }
    columns = {}
    for expr in node.keys:
        if isinstance(expr, EntityRef):
            columns[expr.slot] = rows.columns[expr.slot][first]
        else:
            computed[id(expr)] = _shown(run.vector(expr, rows).take(first))
    return Bindings(count, columns, computed)


def fold_rows(
    fold: Aggregate | BlockAggregate, rows: Bindings, run: Run, *, groups: Ints, count: int
) -> Vector:
    """An aggregate over the rows of each group."""
    operand = fold.operand
    if operand is None:
        return count_rows(groups, count)
    if isinstance(operand, EntityRef):
        # An entity is its row, which is never NULL.
        values = Vector(Column(pa.array(rows.columns[operand.slot])))
    else:
        values = run.vector(operand, rows)
    return fold_groups(fold, values, groups, count)


def _codes(expr: Expr, rows: Bindings, run: Run) -> Ints:
    """Numbers in the order of the values, NULL before all."""
    if isinstance(expr, EntityRef):
        return dense(run.space_of(expr.slot).ranks(rows.columns[expr.slot]))[0]
    ordered = run.vector(expr, rows).ordered()
    codes = dense(ordered.codes)[0]
    return codes if ordered.nulls is None else np.where(ordered.nulls, -1, codes)


def _shown(values: Vector) -> Vector:
    """Both zeros are one value, and one of them is shown."""
    array = values.arrow()
    if pa.types.is_floating(array.type):
        zero = values.numbers() + values.numbers().dtype.type(0)
        return Vector(Column(pa.array(zero, mask=values.nulls())))
    return Vector(Column(array))
