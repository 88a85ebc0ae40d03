"""Fewer rows: conditions, and slots that are dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from omnigraph.executor.operators.join import joined_pieces
from omnigraph.executor.profile import Stopwatch
from omnigraph.executor.rows.bindings import PIECE_ROWS, Bindings
from omnigraph.executor.rows.keys import distinct_rows, unique
from omnigraph.planner.plan import Join

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from omnigraph.executor.run import Given, PlanRun
    from omnigraph.ir.expressions import Expr, Slot
    from omnigraph.planner import plan

__all__ = ["keep_slots", "run_filter", "run_keep"]


def run_filter(node: plan.Filter, run: PlanRun, given: Given) -> Bindings:
    """Rows for which every condition is true; later conditions look at what is left."""
    if isinstance(node.input, Join):
        return _filter_joined(node, node.input, run, given)
    return _passing(node, run.rows(node.input, given), run)


def _filter_joined(node: plan.Filter, join: Join, run: PlanRun, given: Given) -> Bindings:
    """Pairs that do not pass are never kept, however many there are."""
    meter, kept, clock = run.context.meter, [], Stopwatch()
    for piece in clock.timed(joined_pieces(join, run, given, held=False)):
        kept.append(_passing(node, piece, run))
        meter.hold(kept[-1].nbytes)
    if run.profile is not None:
        run.profile.note_within(join, clock.rows, clock.seconds, clock.bytes)
    return Bindings.joined(kept)


def _passing(node: plan.Filter, rows: Bindings, run: PlanRun) -> Bindings:
    for condition in node.conditions:
        if not rows.count:
            break
        mask = _mask(condition, rows, run)
        if not mask.all():
            rows = rows.take(np.flatnonzero(mask))
    return rows


def _mask(condition: Expr, rows: Bindings, run: PlanRun) -> npt.NDArray[np.bool_]:
    if rows.count <= PIECE_ROWS:
        return run.passing(condition, rows)
    masks = []
    for start in range(0, rows.count, PIECE_ROWS):
        run.context.meter.check()
        masks.append(run.passing(condition, rows.part(start, start + PIECE_ROWS)))
    return np.concatenate(masks)


def run_keep(node: plan.Project, run: PlanRun, given: Given) -> Bindings:
    """Fewer slots."""
    rows = run.rows(node.input, given)
    return keep_slots(rows, node.slots, run, distinct=node.distinct)


def keep_slots(rows: Bindings, slots: Sequence[Slot], run: PlanRun, *, distinct: bool) -> Bindings:
    """Only some slots; ``distinct`` each combination once."""
    if not distinct:
        return rows.only(slots)
    if len(slots) == 1 and slots[0] not in run.nullable:
        found = unique(rows.columns[slots[0]], run.space_of(slots[0]).size)
        return Bindings(len(found), {slots[0]: found})
    kept = rows.only(slots)
    return kept.take(distinct_rows(list(kept.columns.values()), kept.count))
