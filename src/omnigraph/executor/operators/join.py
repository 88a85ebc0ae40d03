"""Rows of two plans brought together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from omnigraph.executor.rows.bindings import PIECE_ROWS, Bindings
from omnigraph.executor.rows.keys import count_pairs, distinct_rows, is_among, matching_rows
from omnigraph.planner.plan import output_slots
from omnigraph.semantics.columns.codes import dense
from omnigraph.semantics.columns.column import Column, Vector

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from omnigraph.executor.run import Given, PlanRun
    from omnigraph.ir.expressions import Expr, Slot
    from omnigraph.planner import plan

    Ints = npt.NDArray[np.int64]

__all__ = ["joined_pieces", "run_join", "run_semi_join", "seeds"]


def run_join(node: plan.Join, run: PlanRun, given: Given) -> Bindings:
    """Every pair of rows whose values agree."""
    return Bindings.joined(list(joined_pieces(node, run, given, held=True)))


def joined_pieces(node: plan.Join, run: PlanRun, given: Given, *, held: bool) -> Iterator[Bindings]:
    """The same piece by piece; ``held``: whoever asks keeps them all."""
    left = run.rows(node.left, given)
    if not left.count:
        yield Bindings(0, dict.fromkeys(output_slots(node), np.empty(0, np.int64)))
        return
    right = run.rows(node.right, given)
    left, right = left.only(left.columns), right.only(right.columns)
    codes = [_codes(one, other, left, right, run) for one, other in node.equal]
    mine, theirs = ([pair[side] for pair in codes] for side in (0, 1))
    pairs = count_pairs(mine, theirs, (left.count, right.count))
    step = max(1, left.count * PIECE_ROWS // max(pairs, 1))
    # Held before it is made: two small sides may have more pairs than there is memory.
    columns = 2 + len(left.columns) + len(right.columns)
    run.context.meter.hold(8 * columns * (pairs if held else min(pairs, PIECE_ROWS)))
    for start in range(0, left.count, step):
        run.context.meter.check()
        some = left.part(start, start + step)
        keys = [column[start : start + step] for column in mine]
        places, others = matching_rows(keys, theirs, (some.count, right.count))
        yield some.take(places).extended(right.take(others).columns)


def _codes(
    one: Expr, other: Expr, left: Bindings, right: Bindings, run: PlanRun
) -> tuple[Ints, Ints]:
    """Equal codes for equal values; NULL is equal to nothing, not even to another NULL."""
    first, second = run.vector(one, left), run.vector(other, right)
    both = Vector(Column(pa.concat_arrays([first.arrow(), second.arrow()]))).ordered()
    codes, _ = dense(both.codes)
    if both.nulls is not None:
        codes = codes.copy()
        nulls = np.flatnonzero(both.nulls)
        codes[nulls] = len(codes) + np.arange(len(nulls))
    return codes[: left.count], codes[left.count :]


def seeds(rows: Bindings, slots: Sequence[Slot]) -> Given:
    """The start of an inner plan: the distinct values of the slots that it reads."""

    def make() -> Bindings:
        if not slots:
            return Bindings(min(rows.count, 1), {})
        only = rows.only(slots)
        return only.take(distinct_rows(list(only.columns.values()), only.count))

    return make


def run_semi_join(node: plan.SemiJoin, run: PlanRun, given: Given) -> Bindings:
    """Rows that the inner plan confirms, or does not."""
    rows = run.rows(node.input, given)
    if not rows.count:
        return rows
    inner = run.rows(node.inner, seeds(rows, node.slots))
    found = is_among(
        [rows.columns[slot] for slot in node.slots],
        [inner.columns[slot] for slot in node.slots],
        (rows.count, inner.count),
    )
    return rows.take(np.flatnonzero(~found if node.anti else found))
