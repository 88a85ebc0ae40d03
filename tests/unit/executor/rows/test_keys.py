"""Rows told apart by numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.executor.rows import keys
from omnigraph.executor.rows.keys import count_pairs, matching_rows

SIDES = st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 2)), max_size=8)


@given(SIDES, SIDES, st.integers(0, 2))
def test_pairs_are_counted_as_they_are_found(
    left: list[tuple[int, int]], right: list[tuple[int, int]], width: int
) -> None:
    sides = [
        [np.array([row[place] for row in rows], np.int64) for place in range(width)]
        for rows in (left, right)
    ]
    counts = (len(left), len(right))
    mine, theirs = matching_rows(sides[0], sides[1], counts)
    found = sorted(zip(mine.tolist(), theirs.tolist(), strict=True))
    expected = [
        (one, other)
        for one, row in enumerate(left)
        for other, match in enumerate(right)
        if row[:width] == match[:width]
    ]
    assert found == expected
    few, keys._FEW_PAIRS = keys._FEW_PAIRS, -1
    try:
        assert count_pairs(sides[0], sides[1], counts) == len(expected)
    finally:
        keys._FEW_PAIRS = few
