"""Distances, relevance, ranks and their reciprocal fusion."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from omnigraph.ir.expressions import RankFusion, Score, ScoreFunc
from omnigraph.testing.reference.expressions import evaluates, value
from omnigraph.testing.reference.graph import Refused
from omnigraph.testing.reference.words import bm25

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.testing.reference.graph import Binding
    from omnigraph.testing.reference.scope import Scope

__all__ = ["is_ranked", "query_vector", "row_ids"]


@evaluates(Score)
def _score(expr: Score, row: Binding, scope: Scope) -> float | None:
    entity, query = row[expr.target.slot], value(expr.query, row, scope)
    stored = value(expr.target, row, scope)
    if query is None:
        return None
    if expr.func is ScoreFunc.NEAREST:
        vector = query_vector(expr, entity.type_id, query, scope)
        return None if stored is None else _cosine_distance(stored, vector)
    corpus = [each.values[expr.target.prop] for each in scope.graph[entity.type_id]]
    texts = [text for text in corpus if text is not None]
    return None if stored is None else bm25(stored, query, texts)


def query_vector(expr: Score, type_id: str, query: Any, scope: Scope) -> Sequence[float]:
    """The vector that distances are measured from: given, or embedded from a text."""
    vector = query
    if isinstance(query, str):
        if scope.embed is None:
            raise Refused("search.no_embedder")
        vector = scope.embed(query, type_id, expr.target.prop)
    dim = getattr(expr.target.dtype, "dim", None)
    if len(vector) != dim:
        raise Refused("search.dimension")
    if not all(map(math.isfinite, vector)) or all(number == 0 for number in vector):
        raise Refused("search.no_direction")
    return list(vector)


def _cosine_distance(left: Sequence[float], right: Sequence[float]) -> float | None:
    lengths = math.dist(left, [0.0] * len(left)) * math.dist(right, [0.0] * len(right))
    if lengths == 0 or not math.isfinite(lengths):
        return None
    products = [one * other for one, other in zip(left, right, strict=True)]
    return 1 - min(1.0, max(-1.0, math.fsum(products) / lengths))


def is_ranked(expr: Score, score: float | None) -> bool:
    """Whether a row with this score takes part in the ranking."""
    if score is None:
        return False
    return expr.func is ScoreFunc.NEAREST or score > 0


def row_ids(row: Binding) -> tuple[str, ...]:
    """The ids of a row, in the order of its slots."""
    return tuple(row[slot].id for slot in sorted(row))


@evaluates(RankFusion)
def _fuse(expr: RankFusion, row: Binding, scope: Scope) -> float:
    if scope.ranked is None:
        raise Refused("search.rank_in_match")
    k = value(expr.k, {}, scope)
    if k is None or k <= 0:
        raise Refused("search.rrf_k")
    ids, fused = row_ids(row), 0.0
    for score in expr.scores:
        places = _places(score, scope)
        if ids in places:
            fused += 1 / (k + places[ids])
    return fused


def _places(expr: Score, scope: Scope) -> dict[tuple[str, ...], int]:
    key = ("places", expr)
    if key not in scope.memo:
        sign = 1 if expr.func is ScoreFunc.NEAREST else -1
        scored = [(value(expr, row, scope), row_ids(row)) for row in scope.ranked or ()]
        best = sorted((sign * score, ids) for score, ids in scored if is_ranked(expr, score))
        scope.memo[key] = {ids: place for place, (_, ids) in enumerate(best, start=1)}
    found: dict[tuple[str, ...], int] = scope.memo[key]
    return found
