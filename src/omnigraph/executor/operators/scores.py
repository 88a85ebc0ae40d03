"""Scores and ranks of rows; ordering by a score retrieves the rows that it ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from omnigraph.ir.expressions import RankFusion, Score, ScoreFunc

if TYPE_CHECKING:
    from omnigraph.executor.rows.bindings import Bindings
    from omnigraph.executor.run import Given, PlanRun
    from omnigraph.planner import plan

__all__ = ["run_scores"]


def run_scores(node: plan.Scores, run: PlanRun, given: Given) -> Bindings:
    """The same rows with their scores, without those that have no place in a ranking."""
    rows = run.rows(node.input, given)
    # A fusion ranks all rows, so it comes before any of them is left out.
    for score in node.scores:
        if isinstance(score, RankFusion):
            rows = rows.computing(id(score), run.scoring.fuse(score, rows))
    if node.first is not None and run.limit is not None:
        wanted = run.offset + run.limit
        chosen = run.scoring.best(node.first, rows, wanted, of_all=node.ranks_all)
        if chosen is not None:
            rows = rows.take(chosen[0]).computing(id(node.first), chosen[1])
    for score in node.scores:
        if isinstance(score, Score) and id(score) not in rows.computed:
            rows = rows.computing(id(score), run.scoring.score(score, rows))
    for score in node.ranked:
        values = rows.computed[id(score)]
        nulls = values.nulls()
        ranked = np.ones(rows.count, np.bool_) if nulls is None else ~nulls
        if not isinstance(score, Score) or score.func is not ScoreFunc.NEAREST:
            ranked &= values.numbers() > 0
        rows = rows.take(np.flatnonzero(ranked))
    return rows
