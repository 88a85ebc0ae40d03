"""Following hops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from omnigraph.errors import InvariantBroken
from omnigraph.executor.operators.filter import keep_slots
from omnigraph.executor.rows.bindings import PIECE_ROWS, Bindings
from omnigraph.executor.traversal.hops import (
    count_neighbours,
    count_walks,
    neighbours,
    neighbours_once,
    reach,
    split,
)
from omnigraph.executor.traversal.topology import Csr, Direction
from omnigraph.planner.plan import output_slots

if TYPE_CHECKING:
    import numpy.typing as npt

    from omnigraph.executor.run import Given, PlanRun
    from omnigraph.ir.expressions import Slot
    from omnigraph.ir.queries import Hop
    from omnigraph.planner import plan

    Ints = npt.NDArray[np.int64]

__all__ = ["run_edge_ends", "run_expand"]


def run_expand(node: plan.Expand, run: PlanRun, given: Given) -> Bindings:
    """A row for each node that the hop leads to; with an edge variable, for each edge."""
    rows = _bound(run.rows(node.input, given), node.start, run)
    if not rows.count:
        return _empty(output_slots(node))
    starts = rows.columns[node.start]
    csr, at = _around(node, run, starts)
    meter = run.context.meter
    if node.keeps == () and not node.closes:
        # Nothing reads the rows: their number is the sum of the degrees.
        count = count_walks(csr, at)
        return Bindings(min(count, 1) if node.distinct else count, {})
    if node.distinct and node.keeps == (node.end,) and not node.closes:
        bound = run.space_of(node.end).size
        if node.counted:
            return Bindings(count_neighbours(csr, at, bound, meter), {})
        found = neighbours_once(csr, at, bound, meter)
        return Bindings(len(found), {node.end: found})
    pieces = split(csr, at, PIECE_ROWS)
    if len(pieces) == 1:
        return _followed(node, rows, csr, at, run)
    parts = []
    for start, stop in pieces:
        meter.check()
        parts.append(_followed(node, rows.part(start, stop), csr, at[start:stop], run))
    joined = Bindings.joined(parts)
    return (
        keep_slots(joined, tuple(joined.columns), run, distinct=True) if node.distinct else joined
    )


def _followed(node: plan.Expand, rows: Bindings, csr: Csr, at: Ints, run: PlanRun) -> Bindings:
    """The rows that some rows lead to."""
    meter = run.context.meter
    index, places = neighbours(csr, at, meter)
    near = csr.near[places]
    made: dict[Slot, Ints] = {}
    if node.hop.edge_slot is not None and csr.edge is not None:
        made[node.hop.edge_slot] = csr.edge[places].astype(np.int64)
    if node.closes:
        hits = np.flatnonzero(near == rows.columns[node.end][index])
        index = index[hits]
        made = {slot: values[hits] for slot, values in made.items()}
    else:
        made[node.end] = near
    keeps = output_slots(node) if node.keeps is None else node.keeps
    meter.hold(8 * len(index) * len(keeps))
    columns = {slot: made[slot] if slot in made else rows.columns[slot][index] for slot in keeps}
    found_rows = Bindings(len(index), columns)
    return keep_slots(found_rows, keeps, run, distinct=True) if node.distinct else found_rows


def _around(node: plan.Expand, run: PlanRun, starts: Ints) -> tuple[Csr, Ints]:
    """The neighbours of the starts, and where each start is among them."""
    hop = node.hop
    adjacency = run.adjacency(hop.edge_type)
    forward = node.start == hop.source
    direction = Direction.BOTH if hop.undirected else Direction.OUT if forward else Direction.IN
    if hop.min_hops == 1 == hop.max_hops:
        return adjacency.around(starts, direction, with_edges=hop.edge_slot is not None)
    if not _joins_equals(hop, run):
        # A second step would have to leave from a node of another type.
        if hop.min_hops <= 1 <= hop.max_hops:
            return adjacency.around(starts, direction, with_edges=False)
        return Csr(np.zeros(len(starts) + 1, np.int64), _NO_ROWS, None), np.arange(len(starts))
    known, at = np.unique(starts, return_inverse=True)
    found = reach(
        adjacency,
        known,
        direction,
        bounds=(hop.min_hops, hop.max_hops),
        backward=not forward,
        meter=run.context.meter,
    )
    return found, at.astype(np.int64)


def _joins_equals(hop: Hop, run: PlanRun) -> bool:
    types = run.plan.types
    equals = types[hop.source] == types[hop.target]
    if hop.undirected and not equals:
        raise InvariantBroken(10, "an undirected hop joins nodes of two types")
    return equals


def run_edge_ends(node: plan.EdgeEnds, run: PlanRun, given: Given) -> Bindings:
    """The nodes at the ends of bound edges; an undirected hop reads an edge both ways."""
    rows = _bound(run.rows(node.input, given), node.edge, run)
    if not rows.count:
        return _empty(output_slots(node))
    source, target = run.adjacency(node.hop.edge_type).ends(rows.columns[node.edge])
    index = np.arange(rows.count)
    if node.hop.undirected:
        back = np.flatnonzero(source != target)
        index = np.concatenate([index, index[back]])
        source, target = (
            np.concatenate([source, target[back]]),
            np.concatenate([target, source[back]]),
        )
    made: dict[Slot, Ints] = {}
    agree = np.ones(len(index), np.bool_)
    for slot, values in ((node.hop.source, source), (node.hop.target, target)):
        known = rows.columns[slot][index] if slot in rows.columns else made.setdefault(slot, values)
        agree &= known == values
    hits = np.flatnonzero(agree)
    run.context.meter.hold(8 * len(hits) * len(rows.columns))
    found = rows.only(rows.columns).take(index[hits])
    return found.extended({slot: values[hits] for slot, values in made.items()})


def _bound(rows: Bindings, slot: Slot, run: PlanRun) -> Bindings:
    """The rows whose entity is not NULL: NULL has no edges."""
    if slot not in run.nullable:
        return rows
    present = rows.columns[slot] >= 0
    return rows if present.all() else rows.take(np.flatnonzero(present))


def _empty(slots: tuple[Slot, ...]) -> Bindings:
    return Bindings(0, dict.fromkeys(slots, _NO_ROWS))


_NO_ROWS = np.empty(0, np.int64)
