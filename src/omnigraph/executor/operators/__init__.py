"""Operators of a plan: each maps the rows of its inputs to its own.

Modules in reading order:

* ``scan``: entities of a type, rows of the outer block, counts from metadata.
* ``expand``: neighbours along a hop, and the ends of bound edges.
* ``join``: joins and semi-joins.
* ``filter``: selection and projection.
* ``grouping``: groups of rows by keys, and aggregates over them.
* ``product``: aggregates over a factorised product.
* ``group``: aggregation of a query.
* ``apply``: correlated blocks.
* ``scores``: scores, and retrieval by score.
* ``sort``: order, offset and limit.
* ``tables``: columns of stages as slots, unions, items of lists, optional rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.executor.operators.apply import run_apply
from omnigraph.executor.operators.expand import run_edge_ends, run_expand
from omnigraph.executor.operators.filter import run_filter, run_keep
from omnigraph.executor.operators.group import run_group
from omnigraph.executor.operators.join import run_join, run_semi_join
from omnigraph.executor.operators.scan import run_counted, run_given, run_scan
from omnigraph.executor.operators.scores import run_scores
from omnigraph.executor.operators.sort import run_page, run_sort
from omnigraph.executor.operators.tables import run_bind, run_optional, run_union, run_unwind
from omnigraph.planner import plan

if TYPE_CHECKING:
    from omnigraph.executor.run import Operators

__all__ = ["OPERATORS"]

OPERATORS: Operators = {
    plan.Values: run_given,
    plan.Scan: run_scan,
    plan.MetadataCount: run_counted,
    plan.Expand: run_expand,
    plan.EdgeEnds: run_edge_ends,
    plan.Filter: run_filter,
    plan.Project: run_keep,
    plan.Join: run_join,
    plan.SemiJoin: run_semi_join,
    plan.Apply: run_apply,
    plan.Scores: run_scores,
    plan.Group: run_group,
    plan.Sort: run_sort,
    plan.Limit: run_page,
    plan.Bind: run_bind,
    plan.UnionRows: run_union,
    plan.UnwindRows: run_unwind,
    plan.OptionalRows: run_optional,
}
