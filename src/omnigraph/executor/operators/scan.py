"""Where rows begin: the entities of a type, given rows, and counts that need no rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from omnigraph.executor.rows.bindings import Bindings
from omnigraph.semantics.columns.column import Column, Vector

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from omnigraph.executor.run import Given, PlanRun
    from omnigraph.ir.expressions import Expr
    from omnigraph.planner import plan

    Ints = npt.NDArray[np.int64]

__all__ = ["run_counted", "run_given", "run_scan"]

_NONE = np.empty(0, np.int64)


def run_given(_node: plan.Values, _run: PlanRun, given: Given) -> Bindings:
    """The rows of the block around."""
    return given()


def run_counted(node: plan.MetadataCount, run: PlanRun, _given: Given) -> Bindings:
    """One row: how many entities there are."""
    count = Vector(Column.of_cells([run.row_count(node.type_id)], pa.int64()))
    return Bindings(1, {}, {id(fold): count for fold in node.folds})


def run_scan(node: plan.Scan, run: PlanRun, _given: Given) -> Bindings:
    """Entities by id, or all of them, that pass the filters."""
    if node.counted:
        return Bindings(run.row_count(node.slot.type_id), {})
    slot, ids = node.slot.slot, None
    if node.ids is not None:
        ids = _ids(node.ids, run)
        if not ids:
            return Bindings(0, {slot: _NONE})
    space = run.space(node.slot.type_id)
    rows, filters = space.candidates(ids, node.filters)
    if rows is None:
        # None stands for all rows, so that whole columns are looked at as they are.
        every = Bindings(space.size, {slot: cast("Ints", None)})
        rows = np.flatnonzero(_mask(filters, every, run)) if filters else np.arange(space.size)
    else:
        for condition in filters:
            found = Bindings(len(rows), {slot: rows})
            rows = rows[run.passing(condition, found)]
    run.context.meter.hold(rows.nbytes)
    return Bindings(len(rows), {slot: rows})


def _mask(filters: Sequence[Expr], rows: Bindings, run: PlanRun) -> npt.NDArray[np.bool_]:
    mask = run.passing(filters[0], rows)
    for condition in filters[1:]:
        mask = mask & run.passing(condition, rows)
    return mask


def _ids(expr: Expr, run: PlanRun) -> Sequence[str]:
    """The ids that an expression asks for; NULL asks for none."""
    found = run.constant(expr)
    if isinstance(found, str):
        return (found,)
    if isinstance(found, tuple):
        return [each for each in found if isinstance(each, str)]
    return ()
