"""Search with queries that differ from row to row: each row is scored by itself, without an index.

The compiler admits no such query; the IR does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from omnigraph.ir.expressions import ScoreFunc
from omnigraph.ir.walk import slots_read
from omnigraph.semantics.columns.column import Column, Vector
from omnigraph.semantics.columns.truth import Truth, from_values
from omnigraph.semantics.predicates import Interpreter
from omnigraph.semantics.search import QueryVectors, cosine_distance, fuse, rank
from omnigraph.semantics.text import Corpus, tokenize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.executor.rows.bindings import Bindings
    from omnigraph.executor.run import PlanRun
    from omnigraph.ir.expressions import RankFusion, Score, TextMatch, Value
    from omnigraph.semantics.search import Embed, RowIds

__all__ = ["RowScoring"]


class RowScoring:
    """Scores rows one by one."""

    def __init__(self, run: PlanRun, embed: Embed | None) -> None:
        self._run = run
        self._query_vectors = QueryVectors(embed)
        self._corpora: dict[tuple[str, str], Corpus] = {}
        self._interpreter = Interpreter(run.context.params, run.context.now)

    def text_match(self, expr: TextMatch, rows: Bindings) -> Truth:
        texts = self._values(expr.target, rows)
        queries = self._values(expr.query, rows)
        return from_values(
            self._interpreter.text_matches(expr, text, query)
            for text, query in zip(texts, queries, strict=True)
        )

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
        fused = fuse(rankings, cast("float | None", self._interpreter.constant(expr.k)))
        found = np.array([fused.get(key, 0.0) for key in keys], np.float64)
        return Vector(Column(pa.array(found)))

    def _scores(self, expr: Score, rows: Bindings) -> list[float | None]:
        type_id = self._run.plan.types[expr.target.slot]
        pairs = zip(self._values(expr.target, rows), self._values(expr.query, rows), strict=True)
        return [self._score(expr, type_id, value, query) for value, query in pairs]

    def _score(self, expr: Score, type_id: str, target: Value, query: Value) -> float | None:
        """The score of one value of the target property."""
        if query is None:
            return None
        match expr.func:
            case ScoreFunc.NEAREST:
                wanted = self._query_vectors.of(expr, type_id, query)
                vector = cast("Sequence[float] | None", target)
                return None if vector is None else cosine_distance(vector, wanted)
            case ScoreFunc.BM25:
                text = cast("str | None", target)
                words = tokenize(cast("str", query))
                return None if text is None else self._corpus(expr, type_id).score(text, words)

    def _corpus(self, expr: Score, type_id: str) -> Corpus:
        key = (type_id, expr.target.prop)
        if key not in self._corpora:
            column = self._run.whole_column(type_id, expr.target.prop)
            self._corpora[key] = Corpus(column.array.to_pylist())
        return self._corpora[key]

    def _values(self, expr: Any, rows: Bindings) -> Sequence[Any]:
        if not slots_read(expr):
            return [self._interpreter.constant(expr)] * rows.count
        return self._run.values(expr, rows)
