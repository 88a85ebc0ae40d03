"""Rows folded into groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from omnigraph.executor.operators.grouping import fold_rows, group_rows, key_values
from omnigraph.executor.operators.product import group_product
from omnigraph.executor.rows.bindings import Bindings
from omnigraph.ir.expressions import EntityRef
from omnigraph.planner.plan import Product
from omnigraph.semantics.columns.column import Column, Vector

if TYPE_CHECKING:
    from omnigraph.executor.run import Given, PlanRun
    from omnigraph.planner import plan

__all__ = ["run_group"]


def run_group(node: plan.Group, run: PlanRun, given: Given) -> Bindings:
    """One row per group, in the order of the keys. Aggregates are found by their expressions."""
    if isinstance(node.input, Product):
        return group_product(node, node.input, run, given)
    rows = run.rows(node.input, given)
    if node.counts_rows:
        counted = Vector(Column.of_cells([rows.count], pa.int64()))
        return Bindings(1, {}, {id(fold): counted for fold in node.folds})
    found = group_rows(node.keys, rows, run)
    # Without keys there is one group, even of no rows, unless only distinct rows are wanted.
    count = 1 if node.folds and not node.keys else found.count
    computed = {
        id(fold): fold_rows(fold, rows, run, groups=found.groups, count=count)
        for fold in node.folds
    }
    columns, chosen = {}, rows.take(found.first) if node.keys else rows
    for expr in node.keys:
        if isinstance(expr, EntityRef):
            columns[expr.slot] = chosen.columns[expr.slot]
        else:
            computed[id(expr)] = key_values(expr, chosen, run)
    return Bindings(count, columns, computed)
