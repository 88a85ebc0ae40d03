"""Apply: the value of a block for each row, computed for all rows at once and then folded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from omnigraph.datatypes.arrow import arrow_type
from omnigraph.executor.operators.grouping import fold_rows
from omnigraph.executor.operators.join import seeds
from omnigraph.executor.operators.product import apply_product
from omnigraph.executor.rows.keys import is_among, packed_alike
from omnigraph.ir.expressions import AggregateFunc, BlockAggregate, Exists
from omnigraph.planner.plan import Product
from omnigraph.semantics.columns.column import Column, Vector

if TYPE_CHECKING:
    import numpy.typing as npt

    from omnigraph.executor.rows.bindings import Bindings
    from omnigraph.executor.run import Given, PlanRun
    from omnigraph.planner import plan

    Ints = npt.NDArray[np.int64]

__all__ = ["run_apply"]


def run_apply(node: plan.Apply, run: PlanRun, given: Given) -> Bindings:
    """Return the same rows with one more value."""
    rows = run.rows(node.input, given)
    given = seeds(rows, node.slots)
    if isinstance(node.inner, Product) and isinstance(node.expr, BlockAggregate):
        values = apply_product(node.expr, node.inner, rows.only(node.slots), run, given)
        return rows.computing(id(node.expr), values)
    inner = run.rows(node.inner, given)
    outside = [rows.columns[slot] for slot in node.slots]
    inside = [inner.columns[slot] for slot in node.slots]
    counts = (rows.count, inner.count)
    if isinstance(node.expr, Exists):
        found = is_among(outside, inside, counts)
        truths = ~found if node.expr.negated else found
        return rows.computing(id(node.expr), Vector(Column(pa.array(truths))))
    keys, inner_keys = packed_alike(outside, inside, counts)
    known, groups = np.unique(inner_keys, return_inverse=True)
    folded = fold_rows(node.expr, inner, run, groups=groups.astype(np.int64), count=len(known))
    return rows.computing(id(node.expr), _spread(node.expr, folded, known, keys))


def _spread(expr: BlockAggregate, folded: Vector, known: Ints, keys: Ints) -> Vector:
    """Map the folds of the groups to the rows; a row without a group has count 0 or NULL."""
    if not len(known):
        places, hits = np.zeros(len(keys), np.int64), np.zeros(len(keys), np.bool_)
    else:
        places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        hits = known[places] == keys
    if expr.func is AggregateFunc.COLLECT:
        # The list of a row without a group is empty.
        lists = pa.concat_arrays([folded.arrow(), pa.array([[]], arrow_type(expr.dtype))])
        return Vector(Column(lists.take(pa.array(np.where(hits, places, len(known))))))
    spread = folded.arrow().take(pa.array(places, mask=~hits))
    if expr.func is AggregateFunc.COUNT:
        spread = spread.fill_null(0)
    return Vector(Column(spread))
