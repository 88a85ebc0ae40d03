"""Ranks: what is best, and two rankings made one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from omnigraph.errors import InvalidInput
from omnigraph.executor.search.distances import exact_sum
from omnigraph.frozen import frozen
from omnigraph.ir.expressions import ScoreFunc

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.bool_]

__all__ = ["Ranked", "best", "fuse", "is_ranked", "ranks"]


@frozen
class Ranked:
    """Rows of a table with their scores, best first; rows with equal scores stand in table order.

    A ranking that was cut has every row whose score equals the last one: whoever breaks ties by
    something else than the place in the table finds all that he has to choose from.
    """

    rows: Ints
    scores: Floats

    def __len__(self) -> int:
        return len(self.rows)


def is_ranked(func: ScoreFunc, scores: Floats) -> Mask:
    """Which rows have a place in a ranking; NaN is no score."""
    with np.errstate(invalid="ignore"):
        return scores > 0 if func is ScoreFunc.BM25 else ~np.isnan(scores)


def best(func: ScoreFunc, rows: Ints, scores: Floats, count: int | None) -> Ranked:
    """The best rows, and those that are as good as the last of them."""
    places = is_ranked(func, scores)
    rows, scores = rows[places], scores[places]
    keys = -scores if func is ScoreFunc.BM25 else scores
    if count is not None and count < len(keys):
        last = np.partition(keys, count - 1)[count - 1] if count > 0 else -np.inf
        keep = keys <= last
        rows, scores, keys = rows[keep], scores[keep], keys[keep]
    order = np.lexsort([rows, keys])
    return Ranked(rows[order], scores[order])


def ranks(func: ScoreFunc, scores: Floats, ties: Sequence[Ints]) -> Ints:
    """The place of each row, from 1, best first; 0 for a row without one.

    ``ties`` decide between equal scores, the first of them first.
    """
    found = np.zeros(len(scores), np.int64)
    places = np.flatnonzero(is_ranked(func, scores))
    keys = -scores[places] if func is ScoreFunc.BM25 else scores[places]
    order = np.lexsort([*(tie[places] for tie in reversed(ties)), keys])
    found[places[order]] = np.arange(1, len(places) + 1)
    return found


def fuse(rankings: Sequence[Ints], k: float | None) -> Floats:
    """Reciprocal rank fusion: the sum of 1 / (k + rank); 0 for a row that no ranking has."""
    if k is None or k <= 0:
        raise InvalidInput("search.rrf_k", f"rrf() cannot use k = {k}", remedy="use a k above 0")
    terms = [np.where(places > 0, 1 / (k + places), 0.0) for places in rankings]
    return exact_sum(np.stack(terms, axis=1))
