"""ULIDs by the million."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from omnigraph.runtime.bulk_ids import new_ulids
from omnigraph.runtime.ids import is_ulid, new_ulid

if TYPE_CHECKING:
    import numpy as np


def texts(ids: np.ndarray) -> list[str]:
    return [bytes(row).decode() for row in ids]


@pytest.mark.parametrize("count", [0, 1, 2, 1_000, 100_000])
def test_they_are_distinct_ascending_ulids(count: int) -> None:
    found = texts(new_ulids(count))
    assert len(found) == count
    assert found == sorted(set(found))
    assert all(map(is_ulid, found[:10] + found[-10:]))


def test_their_time_is_that_of_single_ones() -> None:
    before, between, after = new_ulid(), texts(new_ulids(1))[0], new_ulid()
    assert before[:10] <= between[:10] <= after[:10]


@pytest.mark.parametrize("start", [0, 1, 2**40 - 3, 2**79 - 1, 2**60 + 2**40 - 2])
def test_the_random_part_counts_on_over_every_boundary(
    start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secrets.randbits", lambda _: start)
    alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

    def value(text: str) -> int:
        number = 0
        for char in text:
            number = number * 32 + alphabet.index(char)
        return number

    assert [value(text[10:]) for text in texts(new_ulids(6))] == [start + n for n in range(6)]


def test_two_calls_do_not_meet() -> None:
    assert not set(texts(new_ulids(1_000))) & set(texts(new_ulids(1_000)))
