"""Nearest vectors: exact without an index, nearly so with one where exactness is too dear."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from omnigraph.executor.cache import ByteCache
from omnigraph.executor.search import segments
from omnigraph.executor.search import vector_column as vectors
from omnigraph.executor.search.vector_column import VectorColumn
from omnigraph.ports.indexes import IndexKind, IndexSpec, NewSegment
from omnigraph.runtime.budget import Budget

Make = Any
EAST, NORTH = [1.0, 0.0], [0.0, 1.0]


def with_vectors(library: Make, rows: list[Any], dim: int = 2) -> Any:
    return library(*["x"] * len(rows), vectors=rows, dim=dim)


def clustered(count: int, dim: int, seed: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(20, dim))
    return (centres[rng.integers(0, 20, count)] + 0.5 * rng.normal(size=(count, dim))).astype(
        np.float32
    )


def test_the_nearest_come_first_and_what_has_no_direction_is_left_out(library: Make) -> None:
    shelf = with_vectors(library, [NORTH, None, [2.0, 0.0], [0.0, 0.0], [1.0, 1.0], [-1.0, 0.0]])
    ranked = shelf.vectors().nearest(np.array(EAST), 10)
    assert ranked.rows.tolist() == [2, 4, 0, 5]
    assert ranked.scores.tolist()[0] == 0.0
    found = shelf.vectors().distances(np.array(EAST))
    assert np.isnan(found[[1, 3]]).all()


def test_all_that_are_as_near_as_the_last_are_there(library: Make) -> None:
    shelf = with_vectors(library, [NORTH, EAST, [2.0, 0.0], [3.0, 0.0], NORTH])
    assert shelf.vectors().nearest(np.array(EAST), 1).rows.tolist() == [1, 2, 3]


@pytest.mark.parametrize("rows", [[4, 0, 2], [1], []])
def test_some_rows_can_be_asked_for(library: Make, rows: list[int]) -> None:
    shelf = with_vectors(library, [NORTH, EAST, [1.0, 1.0], None, [1.0, 2.0]])
    chosen = np.array(rows, np.int64)
    found = shelf.vectors().distances(np.array(EAST), chosen)
    whole = shelf.vectors().distances(np.array(EAST))
    assert np.array_equal(found, whole[chosen], equal_nan=True)
    ranked = shelf.vectors().nearest(np.array(EAST), 2, np.sort(chosen))
    assert set(ranked.rows.tolist()) <= set(rows)


def test_an_empty_table_has_no_nearest(library: Make) -> None:
    column = library().vectors()
    assert len(column.nearest(np.array(EAST), 3)) == 0
    assert len(column.nearest(np.array(EAST), 0)) == 0


@pytest.mark.parametrize("dim", [2, 64])
def test_a_sweep_leaves_out_none_of_the_nearest(library: Make, dim: int) -> None:
    matrix = clustered(3_000, dim)
    # Beyond what 32 bits can square, and everything doubled so that there are ties.
    matrix[::50] *= np.float32(1e-25)
    matrix[1::50] *= np.float32(1e25)
    matrix = np.concatenate([matrix, matrix * np.float32(2)])
    shelf = with_vectors(library, matrix.tolist(), dim)
    query = matrix[7].astype(np.float64) + 0.1
    whole = shelf.vectors().distances(query)
    ranked = shelf.vectors().nearest(query, 10)
    last = np.sort(whole)[9]
    assert set(ranked.rows.tolist()) == set(np.flatnonzero(whole <= last).tolist())
    assert ranked.scores.tolist() == sorted(whole[whole <= last])


@pytest.mark.parametrize("spread", [0.3, 3.0, None])
def test_cells_leave_out_none_of_the_nearest(
    library: Make, monkeypatch: pytest.MonkeyPatch, spread: float | None
) -> None:
    """In clusters, hardly, and everywhere alike; with ties, and rows that are gone."""
    monkeypatch.setattr(segments, "_PART_ROWS_MIN", 512)
    monkeypatch.setattr(vectors, "_CELLS_VALUES_MIN", 1)
    monkeypatch.setattr(vectors, "_PATIENCE", math.inf)
    looked: list[bool] = []
    look_around = vectors._look_around

    def note(*args: Any) -> Any:
        found = look_around(*args)
        looked.append(found is not None)
        return found

    monkeypatch.setattr(vectors, "_look_around", note)
    rng = np.random.default_rng(11)
    matrix = rng.normal(size=(4_000, 16))
    if spread is not None:
        matrix = rng.normal(size=(20, 16))[rng.integers(0, 20, 4_000)] + spread * matrix
    matrix = matrix.astype(np.float32)
    matrix[::70] *= np.float32(1e25)
    matrix[1::70] = 0
    matrix[2::70] = matrix[3::70][: len(matrix[2::70])] * np.float32(2)
    shelf = with_vectors(library, matrix.tolist(), 16)
    shelf.vectors().nearest(matrix[5].astype(np.float64), 3)
    for gone in (None, "7% of them"):
        if gone:
            shelf.remove(*(f"d{place}" for place in range(0, 4_000, 14)))
        whole_column = shelf.vectors()
        for place in range(2, 400, 37):
            query = matrix[place].astype(np.float64) + 0.05
            whole = whole_column.distances(query)
            ranked = shelf.vectors().nearest(query, 10)
            last = np.sort(whole)[9]
            assert set(ranked.rows.tolist()) == set(np.flatnonzero(whole <= last).tolist())
    assert looked
    assert any(looked) or spread != 0.3, "clusters are what cells are for"


def test_few_rows_are_taken_and_many_are_a_reason_to_read(
    library: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "_PART_ROWS_MIN", 512)
    shelf = with_vectors(library, clustered(2_000, 2).tolist())
    calls = []
    for _ in range(50):
        watched = shelf.watched()
        shelf.vectors(watched).distances(np.array(EAST), np.array([5, 700]))
        calls.append(watched.calls)
    assert "take" in calls[0]
    assert "take" not in calls[-1], "by now reading it whole has been paid for"


# --- with an index ---


def index_vectors(shelf: Any) -> None:
    parts = tuple(range(len(shelf.table.fragments())))
    staged = shelf.table.stage_indexes([NewSegment(IndexSpec("vec", IndexKind.IVF), parts)])
    shelf.pin = shelf.tables.commit(shelf.pin, staged, operation_id="index")


def test_an_index_is_asked_only_where_exactness_is_dear(
    library: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = with_vectors(library, clustered(1_000, 8).tolist(), 8)
    index_vectors(shelf)
    query = np.ones(8)
    for limit, asked in ((1 << 25, False), (0, True)):
        monkeypatch.setattr(vectors, "EXACT_VALUES", limit)
        watched = shelf.watched()
        shelf.vectors(watched).nearest(query, 5)
        assert ("search_vector" in watched.calls) is asked
        watched = shelf.watched()
        shelf.vectors(watched).nearest(query, 5, exact=True)
        assert "search_vector" not in watched.calls


def test_an_index_recalls_all_neighbours_of_clustered_vectors(
    library: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = clustered(5_000, 32)
    shelf = with_vectors(library, matrix[:4_000].tolist(), 32)
    index_vectors(shelf)
    shelf.add(*["x"] * 1_000, vectors=matrix[4_000:].tolist())
    monkeypatch.setattr(vectors, "EXACT_VALUES", 0)
    rng = np.random.default_rng(5)
    recalled = []
    for place in rng.choice(5_000, 25):
        query = matrix[place].astype(np.float64) + 0.02 * rng.normal(size=32)
        near = shelf.vectors().nearest(query, 10)
        exact = shelf.vectors().nearest(query, 10, exact=True)
        recalled.append(len(set(near.rows.tolist()) & set(exact.rows.tolist())) / len(exact))
        known = dict(zip(exact.rows.tolist(), exact.scores.tolist(), strict=True))
        for row, score in zip(near.rows.tolist(), near.scores.tolist(), strict=True):
            assert known.get(row, score) == score
    assert np.mean(recalled) == 1.0


def test_without_an_index_the_answer_is_exact_at_any_size(
    library: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = with_vectors(library, clustered(200, 4).tolist(), 4)
    expected = shelf.vectors().nearest(np.ones(4), 5)
    monkeypatch.setattr(vectors, "EXACT_VALUES", 0)
    assert shelf.vectors().nearest(np.ones(4), 5).rows.tolist() == expected.rows.tolist()


@pytest.mark.parametrize("some", [None, np.arange(0, 6_000, 2)])
def test_vectors_that_do_not_fit_the_memory_of_a_query_are_read_through(
    library: Make, monkeypatch: pytest.MonkeyPatch, some: Any
) -> None:
    shelf = with_vectors(library, clustered(6_000, 8).tolist(), 8)
    shelf.remove("d0", "d17", "d5999")
    some = None if some is None else some[some < shelf.pin.rows]
    query = np.ones(8)
    expected = shelf.vectors().nearest(query, 12, some)
    all_of_them = shelf.vectors().distances(query)
    monkeypatch.setattr(segments, "_PASSING_BYTES", 1 << 14)
    tight = Budget(memory_bytes=150_000)

    def column(cache: ByteCache) -> VectorColumn:
        return VectorColumn(shelf.table, "vec", cache, tight.start())

    cache = ByteCache(1 << 28)
    found = column(cache).nearest(query, 12, some)
    assert found.rows.tolist() == expected.rows.tolist()
    assert found.scores.tolist() == expected.scores.tolist()
    assert np.array_equal(column(cache).distances(query), all_of_them)
    # What is kept already is looked at there, whatever the memory of the query.
    watched = shelf.watched()
    VectorColumn(watched, "vec", shelf.cache, tight.start()).nearest(query, 12)
    assert "batches" not in watched.calls
