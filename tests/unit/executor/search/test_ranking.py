"""Ranks and their fusion, beside the definitions of the naive evaluator."""

from __future__ import annotations

import math

import numpy as np
import pytest

from omnigraph.errors import InvalidInput
from omnigraph.executor.search.ranking import best, fuse, ranks
from omnigraph.ir.expressions import ScoreFunc
from omnigraph.semantics import search as naive

NONE = math.nan


@pytest.mark.parametrize("func", list(ScoreFunc))
def test_ranks_are_those_of_the_definition(func: ScoreFunc) -> None:
    scores = [0.5, NONE, 0.0, 2.0, 0.5, NONE, 1.0]
    ids = ["g", "f", "e", "d", "c", "b", "a"]
    ties = np.argsort(np.argsort(ids))
    expected = naive.rank(
        func,
        {
            (key,): None if math.isnan(score) else score
            for key, score in zip(ids, scores, strict=True)
        },
    )
    found = ranks(func, np.array(scores), [ties])
    assert found.tolist() == [expected.get((key,), 0) for key in ids]


def test_fusion_adds_what_each_ranking_gives() -> None:
    fused = fuse([np.array([1, 0, 2]), np.array([0, 0, 1])], 60)
    assert fused.tolist() == [1 / 61, 0.0, 1 / 62 + 1 / 61]


@pytest.mark.parametrize("k", [None, 0, -1])
def test_a_fusion_needs_a_positive_k(k: float | None) -> None:
    with pytest.raises(InvalidInput) as caught:
        fuse([np.array([1])], k)
    assert caught.value.code == "search.rrf_k"


@pytest.mark.parametrize("count", [0, 1, 2, 5, None])
def test_the_best_are_cut_between_different_scores_only(count: int | None) -> None:
    rows, scores = np.array([4, 1, 3, 2]), np.array([1.0, 3.0, 3.0, 0.0])
    ranked = best(ScoreFunc.BM25, rows, scores, count)
    expected = {0: [], 1: [1, 3], 2: [1, 3]}.get(count if count is not None else -1, [1, 3, 4])
    assert ranked.rows.tolist() == expected
