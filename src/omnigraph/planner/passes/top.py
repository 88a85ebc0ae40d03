"""A page of sorted rows needs only the first of them; what changes nothing is left out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.ir.expressions import Const, Score, ScoreFunc
from omnigraph.planner.plan import (
    Apply,
    Bind,
    Group,
    Limit,
    MetadataCount,
    Node,
    Return,
    Scores,
    Sort,
)
from omnigraph.planner.rewrite import change_nodes

if TYPE_CHECKING:
    from omnigraph.ir.expressions import Expr
    from omnigraph.planner.plan import Plan
    from omnigraph.planner.statistics import PlannerStatistics

__all__ = ["keep_top"]

# The estimate where a limit is a parameter.
_PARAMETER_ROWS = 100.0


def keep_top(plan: Plan, _: PlannerStatistics) -> Plan:
    """Give a sort the number of rows that the page above it shows."""
    return replace(plan, root=change_nodes(plan.root, _top))


def _top(node: Node) -> Node:
    match node:
        case Return(below) | Apply(below) | Bind(below):
            return replace(node, rows=below.rows)
        case Sort(input=Group(keys=()) | MetadataCount() as below):
            # One row is in order.
            return below
        case Limit(input=below, limit=None, offset=None):
            return below
        case Limit(input=below, limit=limit) if limit is not None:
            rows = min(node.rows, _guess(limit))
            if isinstance(below, Sort):
                counts = (limit,) if node.offset is None else (limit, node.offset)
                below = replace(below, input=_best(below), top=counts, rows=rows)
            return replace(node, input=below, rows=rows)
        case _:
            return node


def _best(sort: Sort) -> Node:
    """The input of a sort of which only the first rows are needed."""
    scored, key = sort.input, sort.keys[0] if sort.keys else None
    if not isinstance(scored, Scores) or key is None or not isinstance(key.expr, Score):
        return scored
    # Best first: the nearest, or the most relevant. Another rank would leave out rows after it.
    best_first = key.descending is (key.expr.func is ScoreFunc.BM25)
    alone = len(scored.ranked) == 1 and scored.ranked[0] is key.expr
    return replace(scored, first=key.expr) if best_first and alone else scored


def _guess(limit: Expr) -> float:
    if isinstance(limit, Const) and isinstance(limit.value, int):
        return float(limit.value)
    return _PARAMETER_ROWS
