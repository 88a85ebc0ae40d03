"""The search expressions of a running query, over columns.

If the rows of a query are positions of a table, its texts and vectors are searched as columns,
whose derived structures are cached. If they are not, because only a few rows were fetched, their
values are scored in the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from omnigraph.catalog.model import PropertyId, TypeId
from omnigraph.executor.columns.row_spaces import PositionSpace
from omnigraph.executor.search.corpus import TextQuery
from omnigraph.executor.search.distances import distances, matrix_of
from omnigraph.executor.search.ranking import fuse, ranks
from omnigraph.executor.search.row_scoring import RowScoring
from omnigraph.executor.search.text_column import TextColumn, match_texts
from omnigraph.executor.search.vector_column import VectorColumn
from omnigraph.ir.expressions import Const, ParamRef, Score, ScoreFunc, TextFunc, TextMatch
from omnigraph.ir.walk import slots_read
from omnigraph.semantics.columns.column import Column, Vector
from omnigraph.semantics.columns.truth import Truth, constant
from omnigraph.semantics.predicates import Interpreter
from omnigraph.semantics.search import QueryVectors

if TYPE_CHECKING:
    import numpy.typing as npt

    from omnigraph.executor.rows.bindings import Bindings
    from omnigraph.executor.run import PlanRun, TableSource
    from omnigraph.ir.expressions import PropertyRef, RankFusion, Value
    from omnigraph.ports.tables import Table
    from omnigraph.semantics.search import Embed

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

__all__ = ["ColumnScoring"]


class ColumnScoring:
    """Evaluates the search expressions of one run."""

    def __init__(self, run: PlanRun, source: TableSource, embed: Embed | None) -> None:
        self._run = run
        self._source = source
        self._by_row = RowScoring(run, embed)
        self._interpreter = Interpreter(run.context.params, run.context.now)
        self._query_vectors = QueryVectors(embed)
        # By the identity of an expression in the plan.
        self._queries: dict[int, Value] = {}
        self._made: dict[int, Floats] = {}
        self._columns: dict[tuple[str, str], TextColumn | VectorColumn] = {}

    def check(self) -> None:
        """Reject invalid search operands before a row is read."""
        for expr in self._run.plan.searched:
            match expr:
                case TextMatch(func=TextFunc.FUZZY):
                    self._interpreter.max_edits(expr)
                case Score(func=ScoreFunc.NEAREST) if not _varies(expr):
                    query = self._query(expr)
                    if query is not None:
                        self._vector(expr, query)
                case _:
                    pass

    # --- predicates ---

    def text_match(self, expr: TextMatch, rows: Bindings) -> Truth:
        """Evaluate a text predicate for each row."""
        if _varies(expr):
            return self._by_row.text_match(expr, rows)
        text = self._query(expr)
        if not isinstance(text, str):
            return constant(None, rows.count)
        edits = self._interpreter.max_edits(expr) if expr.func is TextFunc.FUZZY else 0
        query = TextQuery(expr.func, text, edits)
        if self._has_positions(expr.target):
            return self._texts(expr.target).matches(query, rows.columns[expr.target.slot])
        return match_texts(self._values(expr.target, rows), query)

    # --- scores ---

    def score(self, expr: Score, rows: Bindings) -> Vector:
        """Compute a distance or a relevance for each row; NULL where there is none."""
        return (
            self._by_row.score(expr, rows) if _varies(expr) else _vector(self._scores(expr, rows))
        )

    def best(
        self, expr: Score, rows: Bindings, count: int, *, of_all: bool
    ) -> tuple[Ints, Vector] | None:
        """Return the positions of a superset of the ``count`` best rows, with their scores."""
        query = None if _varies(expr) else self._query(expr)
        if query is None or count >= rows.count or not self._has_positions(expr.target):
            return None
        positions = rows.columns[expr.target.slot]
        total = self._run.row_count(self._run.plan.types[expr.target.slot])
        # The best rows belong to the best entities.
        some = _some_of(positions, total)
        if expr.func is ScoreFunc.BM25:
            ranked = self._texts(expr.target).best(str(query), count, some)
        else:
            # With a condition the result is exact, even where all rows happen to pass.
            ranked = self._vectors(expr.target).nearest(
                self._vector(expr, query), count, some, exact=not of_all
            )
        if some is None:
            order = np.argsort(ranked.rows)
            return ranked.rows[order], _vector(ranked.scores[order])
        found = np.full(total, np.nan)
        found[ranked.rows] = ranked.scores
        scores = found[positions]
        places = np.flatnonzero(~np.isnan(scores))
        return places, _vector(scores[places])

    def fuse(self, expr: RankFusion, rows: Bindings) -> Vector:
        """Compute the fused rank of each row."""
        if any(map(_varies, expr.scores)):
            return self._by_row.fuse(expr, rows)
        ties = [self._run.space_of(slot).ranks(rows.columns[slot]) for slot in sorted(rows.columns)]
        rankings = [ranks(score.func, self._scores(score, rows), ties) for score in expr.scores]
        k = cast("float | None", self._interpreter.constant(expr.k))
        return Vector(Column(pa.array(fuse(rankings, k))))

    def _scores(self, expr: Score, rows: Bindings) -> Floats:
        """Compute the scores of rows; NaN for NULL."""
        query = self._query(expr)
        if query is None:
            return np.full(rows.count, np.nan)
        if expr.func is ScoreFunc.BM25:
            return self._relevance(expr, str(query), rows)
        vector = self._vector(expr, query)
        if self._has_positions(expr.target):
            return self._vectors(expr.target).distances(vector, rows.columns[expr.target.slot])
        return distances(matrix_of(self._values(expr.target, rows)), vector)

    def _relevance(self, expr: Score, text: str, rows: Bindings) -> Floats:
        column = self._texts(expr.target)
        if self._has_positions(expr.target):
            scores, nulls = column.scores(text, rows.columns[expr.target.slot])
        else:
            scores, nulls = column.scores_of(self._values(expr.target, rows), text)
        return scores if nulls is None else np.where(nulls, np.nan, scores)

    # --- operands ---

    def _query(self, expr: TextMatch | Score) -> Value:
        """Return the search operand, computed once."""
        if id(expr) not in self._queries:
            self._queries[id(expr)] = self._interpreter.constant(expr.query)
        return self._queries[id(expr)]

    def _vector(self, expr: Score, query: Value) -> Floats:
        """Return the query vector, computed once."""
        if id(expr) not in self._made:
            made = self._query_vectors.of(expr, self._run.plan.types[expr.target.slot], query)
            self._made[id(expr)] = np.asarray(made, np.float64)
        return self._made[id(expr)]

    def _has_positions(self, target: PropertyRef) -> bool:
        """Return whether the rows of a slot are positions of its table."""
        return isinstance(self._run.space_of(target.slot), PositionSpace)

    def _values(self, target: PropertyRef, rows: Bindings) -> pa.Array:
        space = self._run.space_of(target.slot)
        return space.vector(target.prop, rows.columns[target.slot]).arrow()

    def _texts(self, target: PropertyRef) -> TextColumn:
        return cast("TextColumn", self._column(target, TextColumn))

    def _vectors(self, target: PropertyRef) -> VectorColumn:
        return cast("VectorColumn", self._column(target, VectorColumn))

    def _column(
        self, target: PropertyRef, kind: type[TextColumn | VectorColumn]
    ) -> TextColumn | VectorColumn:
        type_id = self._run.plan.types[target.slot]
        key = (type_id, target.prop)
        if key not in self._columns:
            prop = self._run.catalog.types[TypeId(type_id)].by_id[PropertyId(target.prop)]
            table: Table = self._source.table(TypeId(type_id))
            context = self._run.context
            self._columns[key] = kind(table, prop.column, context.cache, context.meter)
        return self._columns[key]


def _varies(expr: TextMatch | Score) -> bool:
    """Return whether the search operand differs from row to row; the compiler rejects such."""
    return not isinstance(expr.query, Const | ParamRef) and bool(slots_read(expr.query))


def _some_of(positions: Ints, total: int) -> Ints | None:
    """Return the distinct positions, ascending; None if these are all positions, in order."""
    if len(positions) == total and bool((positions[1:] > positions[:-1]).all()):
        return None
    marks = np.zeros(total, np.bool_)
    marks[positions] = True
    return np.flatnonzero(marks)


def _vector(scores: Floats) -> Vector:
    nulls = np.isnan(scores)
    return Vector(Column(pa.array(scores, mask=nulls if nulls.any() else None)))
