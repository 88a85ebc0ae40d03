"""Total orders, whole and only their beginning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.executor.rows.ordering import order_by, sort_keys
from omnigraph.semantics.columns.column import Column, Vector
from omnigraph.semantics.values import sort_key

floats = st.none() | st.sampled_from([0.0, -0.0, 1.5, -2.0, float("nan"), float("inf")])
texts = st.none() | st.sampled_from(["", "a", "ä", "B"])


@given(
    st.lists(st.tuples(floats, texts), max_size=12), st.booleans(), st.booleans(), st.integers(0, 6)
)
def test_rows_are_in_the_order_of_the_language_and_the_first_are_its_beginning(
    rows: list[tuple[Any, Any]], down: bool, up: bool, top: int
) -> None:
    numbers = Vector(Column(pa.array([number for number, _ in rows], pa.float64())))
    words = Vector(Column(pa.array([word for _, word in rows], pa.string())))
    keys = [
        *sort_keys(numbers.ordered(), descending=down),
        *sort_keys(words.ordered(), descending=up),
    ]
    expected = sorted(range(len(rows)), key=lambda place: sort_key(rows[place][1]), reverse=up)
    expected.sort(key=lambda place: sort_key(rows[place][0]), reverse=down)
    found = order_by(keys, len(rows), None).tolist()

    def shown(places: list[int]) -> list[Any]:
        return [tuple(sort_key(value) for value in rows[place]) for place in places]

    assert shown(found) == shown(expected)
    assert order_by(keys, len(rows), top).tolist() == found[:top]


def test_rows_without_keys_keep_their_order() -> None:
    assert order_by([], 3, None).tolist() == [0, 1, 2]
    assert order_by([], 3, 2).tolist() == [0, 1]


def test_lists_are_ordered_item_by_item() -> None:
    lists = Vector(Column(pa.array([[2], [1, 5], None, [1]])))
    keys = sort_keys(lists.ordered(), descending=False)
    assert order_by(keys, 4, None).tolist() == [2, 3, 1, 0]


def test_large_unsigned_numbers_come_last() -> None:
    numbers = Vector(Column(pa.array([2**64 - 1, 1, 2**63], pa.uint64())))
    assert np.argsort(numbers.ordered().codes).tolist() == [1, 2, 0]
