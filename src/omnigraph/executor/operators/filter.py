"""Fewer rows: conditions, and slots that are dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from omnigraph.executor.bindings import Bindings
from omnigraph.executor.keys import distinct_rows, unique

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.executor.run import Given, Run
    from omnigraph.ir.expressions import Slot
    from omnigraph.planner import plan

__all__ = ["keep_slots", "run_filter", "run_keep"]


def run_filter(node: plan.Filter, run: Run, given: Given) -> Bindings:
    """Rows for which every condition is true; later conditions look at what is left."""
    rows = run.rows(node.input, given)
    for condition in node.conditions:
        if not rows.count:
            break
        mask = run.passing(condition, rows)
        if not mask.all():
            rows = rows.take(np.flatnonzero(mask))
    return rows


def run_keep(node: plan.Keep, run: Run, given: Given) -> Bindings:
    """Fewer slots."""
    rows = run.rows(node.input, given)
    return keep_slots(rows, node.slots, run, distinct=node.distinct)


def keep_slots(rows: Bindings, slots: Sequence[Slot], run: Run, *, distinct: bool) -> Bindings:
    """Only some slots; ``distinct`` each combination once."""
    if not distinct:
        return rows.only(slots)
    if len(slots) == 1:
        found = unique(rows.columns[slots[0]], run.space_of(slots[0]).size)
        return Bindings(len(found), {slots[0]: found})
    kept = rows.only(slots)
    return kept.take(distinct_rows(list(kept.columns.values()), kept.count))
