"""Finding ids, and their order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.executor.columns.id_index import IdIndex

texts = st.text(max_size=6) | st.sampled_from(["a", "a\0", "\0", "", "é", "x" * 200, "\U0001f600"])


@given(st.lists(texts, unique=True, max_size=12), st.lists(texts, max_size=5))
def test_every_id_is_found_at_its_place_and_no_other_is(ids: list[str], others: list[str]) -> None:
    index = IdIndex(pa.array(ids, pa.string()))
    wanted = [*ids, *others]
    expected = [ids.index(text) if text in ids else -1 for text in wanted]
    assert index.find(wanted).tolist() == expected
    assert [index.find_one(text).tolist() for text in wanted] == [
        [place] if place >= 0 else [] for place in expected
    ]


@given(st.lists(texts, unique=True, max_size=12))
def test_ranks_are_in_the_order_of_the_ids(ids: list[str]) -> None:
    index = IdIndex(pa.array(ids, pa.string()))
    ranks = index.ranks(np.arange(len(ids))).tolist()
    assert [ids[place] for place in np.argsort(ranks)] == sorted(ids)


def test_ids_of_a_part_of_an_array_are_found_at_their_place_in_the_part() -> None:
    whole = pa.array(["a", "b", "c", "d"])
    assert IdIndex(whole.slice(2)).find(["d", "c", "a"]).tolist() == [1, 0, -1]


def test_an_index_weighs_something() -> None:
    assert IdIndex(pa.array(["b", "a"])).nbytes > 0
    assert IdIndex(pa.array(["a\0b", "c"])).nbytes > 0
