"""Tables: columns of stages as slots, unions, items of lists as rows, optional rows.

A value in a slot is a row number like an entity: its place among the distinct values of the slot,
in their order. So joins, distinct rows and ties treat both alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.datatypes.arrow import arrow_type
from omnigraph.executor.operators.join import seeds
from omnigraph.executor.rows.bindings import Bindings
from omnigraph.executor.rows.keys import count_pairs, distinct_rows, matching_rows
from omnigraph.ir.expressions import EntityRef
from omnigraph.ir.queries import EntitySlot
from omnigraph.ir.walk import slots_read
from omnigraph.semantics.columns.column import Column, Vector

if TYPE_CHECKING:
    import numpy.typing as npt

    from omnigraph.executor.run import Given, PlanRun
    from omnigraph.ir.expressions import Slot
    from omnigraph.planner import plan

    Ints = npt.NDArray[np.int64]

__all__ = ["run_bind", "run_optional", "run_union", "run_unwind"]


def run_bind(node: plan.Bind, run: PlanRun, given: Given) -> Bindings:
    """The columns of a stage as the only slots."""
    rows = run.rows(node.input, given)
    columns: dict[Slot, Ints] = {}
    for projection, output in zip(node.projections, node.outputs, strict=True):
        expr = projection.expr
        if isinstance(expr, EntityRef):
            columns[output.slot] = rows.columns[expr.slot]
        else:
            columns[output.slot] = run.bind_values(output.slot, run.vector(expr, rows))
    run.context.meter.hold(8 * rows.count * len(columns))
    return Bindings(rows.count, columns)


def run_union(node: plan.UnionRows, run: PlanRun, given: Given) -> Bindings:
    """The rows of all parts; values of several parts get numbers of their own."""
    parts = [run.rows(part, given) for part in node.parts]
    places = [tuple(part.columns.values()) for part in parts]
    slots = [tuple(part.columns) for part in parts]
    columns: dict[Slot, Ints] = {}
    for at, output in enumerate(node.outputs):
        if isinstance(output, EntitySlot):
            columns[output.slot] = np.concatenate([place[at] for place in places])
            continue
        target = arrow_type(output.dtype)
        arrays = [
            run.space_of(own[at]).vector("", place[at]).arrow().cast(target)
            for own, place in zip(slots, places, strict=True)
        ]
        columns[output.slot] = run.bind_values(
            output.slot, Vector(Column(pa.concat_arrays(arrays)))
        )
    count = sum(part.count for part in parts)
    run.context.meter.hold(8 * count * len(columns))
    found = Bindings(count, columns)
    return found.take(distinct_rows([*columns.values()], count)) if node.distinct else found


def run_unwind(node: plan.UnwindRows, run: PlanRun, given: Given) -> Bindings:
    """A row for each item of the list of each row."""
    rows = run.rows(node.input, given)
    if slots_read(node.items):
        lists = run.vector(node.items, rows).arrow()
        sizes = pc.list_value_length(lists).fill_null(0)
        _hold(run, rows, pc.sum(sizes).as_py() or 0)
        parents = np.asarray(pc.list_parent_indices(lists).to_numpy(), np.int64)
        codes = run.bind_values(node.item.slot, Vector(Column(pc.list_flatten(lists))))
        return rows.take(parents).extended({node.item.slot: codes})
    # One list for all rows, which need not be repeated to be unwound.
    found = run.constant(node.items)
    items = list(found) if isinstance(found, tuple) else []
    _hold(run, rows, rows.count * len(items))
    array = pa.array(items, arrow_type(node.item.dtype))
    codes = run.bind_values(node.item.slot, Vector(Column(array)))
    parents = np.repeat(np.arange(rows.count), len(items))
    return rows.take(parents).extended({node.item.slot: np.tile(codes, rows.count)})


def run_optional(node: plan.OptionalRows, run: PlanRun, given: Given) -> Bindings:
    """Rows with their matches, and rows without one with NULL."""
    rows = run.rows(node.input, given)
    inner = run.rows(node.inner, seeds(rows, node.slots))
    outside = [rows.columns[slot] for slot in node.slots]
    inside = [inner.columns[slot] for slot in node.slots]
    counts = (rows.count, inner.count)
    _hold(run, rows, count_pairs(outside, inside, counts) + rows.count)
    places, others = matching_rows(outside, inside, counts)
    matched = np.zeros(rows.count, np.bool_)
    matched[places] = True
    alone = np.flatnonzero(~matched)
    made = {}
    for slot in node.binds:
        codes, null = run.with_null(slot, inner.columns[slot])
        made[slot] = np.concatenate([codes[others], np.full(len(alone), null, np.int64)])
    return rows.take(np.concatenate([places, alone])).extended(made)


def _hold(run: PlanRun, rows: Bindings, count: int) -> None:
    """Hold the memory of so many rows before they are made."""
    run.context.meter.hold(8 * count * (2 + len(rows.columns)))
    run.context.meter.check()
