"""Many texts at once are split, searched and compared as one text at a time is."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from omnigraph.executor.search.distances import distances, exact_sum, matrix_of
from omnigraph.executor.search.edit_distance import similar_words
from omnigraph.executor.search.term_dictionary import TermDictionary
from omnigraph.semantics.search import cosine_distance
from omnigraph.semantics.text import edit_distance, tokenize

TEXTS = st.lists(
    st.none() | st.text(max_size=20) | st.text("ab_ É\u0301ß1", max_size=12), max_size=8
)
# Sums carry twice the digits of a number: what differs by more cannot stand beside each other.
SMALL = st.just(0.0) | st.builds(
    lambda size, sign: sign * size,
    st.floats(2.0**-20, 2.0**20, width=32),
    st.sampled_from([-1.0, 1.0]),
)


def words_of(words: TermDictionary, row: int) -> tuple[str, ...]:
    codes = words.codes[words.starts[row] : words.starts[row + 1]]
    return tuple(words.vocabulary.take(pa.array(codes)).to_pylist())


@given(TEXTS)
@example(["a", "b", "", None, "a"])
@example(["end", "less"])
def test_a_column_is_split_as_its_texts_are(texts: list[str | None]) -> None:
    words = TermDictionary.of(pa.array(texts, pa.string()))
    assert [words_of(words, row) for row in range(len(texts))] == [
        tokenize(text or "") for text in texts
    ]
    assert words.vocabulary.to_pylist() == sorted({w for t in texts for w in tokenize(t or "")})
    nulls = [False] * len(texts) if words.nulls is None else words.nulls.tolist()
    assert nulls == [text is None for text in texts]


@given(TEXTS, st.data())
def test_a_slice_of_an_array_is_split_like_the_array(
    texts: list[str | None], data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(texts)))
    part = pa.array(texts, pa.string()).slice(start, 3)
    whole = TermDictionary.of(pa.array(texts[start : start + 3], pa.string()))
    assert TermDictionary.of(part).codes.tolist() == whole.codes.tolist()


@given(TEXTS, st.lists(st.integers(0, 7)))
def test_some_rows_have_the_words_that_they_had(texts: list[str | None], rows: list[int]) -> None:
    words = TermDictionary.of(pa.array(texts, pa.string()))
    chosen = np.array([row for row in rows if row < len(texts)], np.int64)
    some = words.some(chosen)
    assert [words_of(some, place) for place in range(len(some))] == [
        words_of(words, row) for row in chosen
    ]


@given(st.lists(st.text("abcé", min_size=1, max_size=6), unique=True), st.text("abcé", min_size=1))
def test_similar_words_are_those_within_the_edits(vocabulary: list[str], word: str) -> None:
    array = pa.array(sorted(vocabulary), pa.string())
    for edits in (1, 2):
        found = array.take(pa.array(similar_words(array, word, edits))).to_pylist()
        assert found == [each for each in sorted(vocabulary) if edit_distance(each, word) <= edits]


@given(
    st.lists(st.lists(SMALL, min_size=5, max_size=5), min_size=1, max_size=6),
    st.lists(SMALL, min_size=5, max_size=5),
)
def test_a_distance_is_the_same_to_the_last_bit_in_every_company(
    vectors: list[list[float]], query: list[float]
) -> None:
    matrix = matrix_of(pa.array(vectors, pa.list_(pa.float32(), 5)))
    together = distances(matrix, np.array(query))
    expected = [cosine_distance(vector, query) for vector in vectors]
    assert [None if math.isnan(each) else each for each in together] == expected
    alone = [float(distances(row[None, :], np.array(query))[0]) for row in matrix]
    assert np.array_equal(together, alone, equal_nan=True)


@given(st.lists(SMALL, min_size=1, max_size=9))
def test_a_sum_is_rounded_once(terms: list[float]) -> None:
    assert exact_sum(np.array([terms]))[0] == math.fsum(terms)
