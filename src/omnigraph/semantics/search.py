"""Scores and ranks.

* ``nearest`` is the cosine distance, 0 to 2. A NULL vector, and one without a direction (all
  zeros), has no distance. A query vector must have a direction, finite components and the
  dimension of the property.
* ``bm25`` is defined in ``semantics.text``.
* A NULL text, vector or query gives a NULL score.
* **Ordering by a score retrieves**: rows that the score does not rank are no part of the answer.
  ``nearest`` ranks the rows that have a distance, ``bm25`` those with a score above 0, ``rrf``
  those that at least one of its rankings has.
* ``rrf`` ranks the rows of the query, after all filters, once per score: best first, ties by the
  ids of the slots, ranks from 1. A row that a ranking does not have gets nothing from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from omnigraph.catalog.model import PropertyId, TypeId
from omnigraph.errors import InvalidInput, Unsupported
from omnigraph.ir.expressions import ScoreFunc

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from omnigraph.datatypes.types import VectorType
    from omnigraph.ir.expressions import Score, Value

__all__ = [
    "Embed",
    "QueryVectors",
    "RowIds",
    "cosine_distance",
    "fuse",
    "is_ranked",
    "rank",
]

# Makes the vector of a text, for a property of a type.
Embed = Callable[[str, TypeId, PropertyId], Sequence[float]]
# The identity of a row of a query: the ids in its slots, in slot order.
RowIds = tuple[str, ...]


class QueryVectors:
    """The vectors that ``nearest`` compares with, each made once."""

    def __init__(self, embed: Embed | None) -> None:
        self._embed = embed
        self._made: dict[tuple[Score, Value], Sequence[float]] = {}

    def of(self, score: Score, type_id: str, query: Value) -> Sequence[float]:
        """The vector that is given, or made from a text."""
        key = (score, query)
        if key not in self._made:
            self._made[key] = self._make(score, type_id, query)
        return self._made[key]

    def _make(self, score: Score, type_id: str, query: Value) -> Sequence[float]:
        vector = cast("Sequence[float]", query)
        if isinstance(query, str):
            if self._embed is None:
                raise Unsupported(
                    "search.no_embedder",
                    "nearest() was given a text, and no embedding provider is configured",
                    remedy="configure one with OMNIGRAPH_EMBED_PROVIDER, or pass a vector",
                )
            vector = self._embed(query, TypeId(type_id), PropertyId(score.target.prop))
        _require_direction(vector, cast("VectorType", score.target.dtype).dim)
        return vector


def _require_direction(vector: Sequence[float], dim: int) -> None:
    if len(vector) != dim:
        raise InvalidInput(
            "search.dimension",
            f"the query vector has {len(vector)} dimensions, the property has {dim}",
            details={"expected": dim, "actual": len(vector)},
            remedy="use the model that made the property's vectors",
        )
    if not all(math.isfinite(component) for component in vector) or not any(vector):
        raise InvalidInput(
            "search.no_direction",
            "the query vector is zero or not finite: nothing is near to it",
            remedy="pass a vector with finite components, at least one of them not zero",
        )


def cosine_distance(left: Sequence[float], right: Sequence[float]) -> float | None:
    """1 - cos of the angle; None where a vector has no direction."""
    scale = math.hypot(*left) * math.hypot(*right)
    if scale == 0 or not math.isfinite(scale):
        return None
    cosine = math.fsum(x * y for x, y in zip(left, right, strict=True)) / scale
    return 1 - max(-1.0, min(1.0, cosine))


def is_ranked(func: ScoreFunc, value: float | None) -> bool:
    """Whether a row with this score has a place in the ranking."""
    return value is not None and (func is ScoreFunc.NEAREST or value > 0)


def rank(func: ScoreFunc, values: Mapping[RowIds, float | None]) -> dict[RowIds, int]:
    """Places from 1, best first, ties by ids; rows without a place are left out."""
    ranked = {ids: value for ids, value in values.items() if is_ranked(func, value)}
    sign = 1 if func is ScoreFunc.NEAREST else -1
    best_first = sorted(ranked, key=lambda ids: (sign * cast("float", ranked[ids]), ids))
    return {ids: place for place, ids in enumerate(best_first, start=1)}


def fuse(rankings: Iterable[Mapping[RowIds, int]], k: float | None) -> dict[RowIds, float]:
    """Reciprocal rank fusion: the sum of 1 / (k + rank), for rows that some ranking has."""
    if k is None or k <= 0:
        raise InvalidInput("search.rrf_k", f"rrf() cannot use k = {k}", remedy="use a k above 0")
    fused: dict[RowIds, float] = {}
    for ranking in rankings:
        for ids, place in ranking.items():
            fused[ids] = fused.get(ids, 0.0) + 1 / (k + place)
    return fused
