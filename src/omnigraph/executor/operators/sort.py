"""The order of the result, and the page of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from omnigraph.executor.operators.grouping import entity_ranks
from omnigraph.executor.paging import row_count
from omnigraph.executor.rows.ordering import order_by, sort_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from omnigraph.executor.rows.bindings import Bindings
    from omnigraph.executor.run import Given, PlanRun
    from omnigraph.ir.expressions import Expr
    from omnigraph.planner import plan

    Ints = npt.NDArray[np.int64]

__all__ = ["run_page", "run_sort"]

# So many are looked through faster than their ids are ranked.
_FEW_ROWS = 256


def run_sort(node: plan.Sort, run: PlanRun, given: Given) -> Bindings:
    """Rows by the keys, then by the ids of their entities; groups are in their order already."""
    rows = run.rows(node.input, given)
    if rows.count <= 1:
        return rows
    keys: list[Ints] = []
    for key in node.keys:
        values = run.vector(key.expr, rows).ordered()
        keys += sort_keys(values, descending=key.descending)
    if not _are_distinct(keys, rows.count):
        keys += [
            entity_ranks(slot, rows, run)
            if slot in run.nullable
            else run.space_of(slot).ranks(rows.columns[slot])
            for slot in node.ties
        ]
    offset, limit = _page(node.staged, run, node.top or ())
    top = None if node.top is None or limit is None else offset + limit
    if len(keys) == 1 and bool((keys[0][1:] >= keys[0][:-1]).all()):
        return rows if top is None else rows.take(np.arange(min(top, rows.count)))
    return rows.take(order_by(keys, rows.count, top))


def _page(staged: bool, run: PlanRun, top: Sequence[Expr]) -> tuple[int, int | None]:  # noqa: FBT001
    """Offset and limit, or for a stage before the last the sum of both as the limit."""
    if not staged:
        return run.offset, run.limit
    counts = [row_count("limit", each, run.context.params) for each in top]
    return 0, None if None in counts or not counts else sum(each or 0 for each in counts)


def _are_distinct(keys: Sequence[Ints], count: int) -> bool:
    """Whether the first key alone orders a few rows: then no ids need to be fetched."""
    return bool(keys) and count <= _FEW_ROWS and len(set(keys[0].tolist())) == count


def run_page(node: plan.Limit, run: PlanRun, given: Given) -> Bindings:
    """The rows between offset and limit."""
    rows = run.rows(node.input, given)
    if node.staged:
        params = run.context.params
        offset = row_count("offset", node.offset, params) or 0
        limit = row_count("limit", node.limit, params)
    else:
        offset, limit = run.offset, run.limit
    end = rows.count if limit is None else min(rows.count, offset + limit)
    start = min(offset, end)
    if start == 0 and end == rows.count:
        return rows
    return rows.take(np.arange(start, end))
