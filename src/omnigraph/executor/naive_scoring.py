"""Search as the naive evaluator does it, row by row: right without any index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from omnigraph.executor.column import Column, Vector
from omnigraph.executor.naive.predicates import Interpreter
from omnigraph.executor.naive.search import Scorer, fuse, rank
from omnigraph.executor.truth import Truth, from_values
from omnigraph.ir.expressions import Score, ScoreFunc, TextFunc, TextMatch
from omnigraph.ir.walk import slots_read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.executor.bindings import Bindings
    from omnigraph.executor.naive.search import Embed, RowIds
    from omnigraph.executor.run import Run
    from omnigraph.ir.expressions import RankFusion

__all__ = ["NaiveScoring"]


class NaiveScoring:
    """Search without any index, by definition."""

    def __init__(self, run: Run, embed: Embed | None) -> None:
        self._run = run
        self._scorer = Scorer(cast("Any", _WholeColumns(run)), embed)
        self._interpreter = Interpreter(run.context.params, run.context.now)

    def check(self) -> None:
        types = self._run.plan.types
        for node in self._run.plan.searched:
            match node:
                case TextMatch(func=TextFunc.FUZZY):
                    self._interpreter.max_edits(node)
                case Score(func=ScoreFunc.NEAREST) if not slots_read(node.query):
                    query = self._interpreter.plain(node.query)
                    if query is not None:
                        self._scorer.query_vector(node, types[node.target.slot], query)
                case _:
                    pass

    def text_match(self, expr: TextMatch, rows: Bindings) -> Truth:
        texts = self._values(expr.target, rows)
        queries = self._values(expr.query, rows)
        return from_values(
            self._interpreter.text_matches(expr, text, query)
            for text, query in zip(texts, queries, strict=True)
        )

    def best(self, expr: Score, rows: Bindings, count: int) -> None:  # noqa: ARG002 - all are scored
        return None

    def score(self, expr: Score, rows: Bindings) -> Vector:
        return Vector(Column(pa.array(self._scores(expr, rows), pa.float64())))

    def fuse(self, expr: RankFusion, rows: Bindings) -> Vector:
        slots = sorted(rows.columns)
        ids = [self._run.space_of(slot).vector("@id", rows.columns[slot]) for slot in slots]
        keys: list[RowIds] = list(zip(*(each.arrow().to_pylist() for each in ids), strict=True))
        rankings = [
            rank(score.func, dict(zip(keys, self._scores(score, rows), strict=True)))
            for score in expr.scores
        ]
        fused = fuse(rankings, cast("float | None", self._interpreter.plain(expr.k)))
        found = np.array([fused.get(key, 0.0) for key in keys], np.float64)
        return Vector(Column(pa.array(found)))

    def _scores(self, expr: Score, rows: Bindings) -> list[float | None]:
        type_id = self._run.plan.types[expr.target.slot]
        pairs = zip(self._values(expr.target, rows), self._values(expr.query, rows), strict=True)
        return [self._scorer.score(expr, type_id, value, query) for value, query in pairs]

    def _values(self, expr: Any, rows: Bindings) -> Sequence[Any]:
        if not slots_read(expr):
            return [self._interpreter.plain(expr)] * rows.count
        return self._run.values(expr, rows)


class _WholeColumns:
    """The tables that a corpus is made of."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def of(self, type_id: str) -> _WholeType:
        return _WholeType(self._run, type_id)


class _WholeType:
    def __init__(self, run: Run, type_id: str) -> None:
        self._run = run
        self._type_id = type_id

    def column(self, prop: str) -> Sequence[Any]:
        values: list[Any] = self._run.whole_column(self._type_id, prop).array.to_pylist()
        return values
