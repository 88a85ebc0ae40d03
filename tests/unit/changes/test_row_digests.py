"""Digests are equal exactly when the values are."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.changes.row_digests import digest_rows


def digests(values: list[Any], kind: pa.DataType) -> list[tuple[int, int]]:
    found = digest_rows({"p": pa.array(values, kind)}, len(values))
    return [(int(one), int(other)) for one, other in found]


SMALL = st.floats(width=32, min_value=-9, max_value=9)
VALUES = {
    pa.string(): st.text(max_size=30),
    pa.large_binary(): st.binary(max_size=30),
    pa.bool_(): st.booleans(),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.float64(): st.floats(allow_nan=False, allow_infinity=False),
    pa.date32(): st.dates(),
    pa.timestamp("us", tz="UTC"): st.datetimes(timezones=st.just(dt.UTC)),
    pa.list_(pa.int64()): st.lists(st.integers(-9, 9), max_size=4),
    pa.list_(pa.string()): st.lists(st.text(max_size=3), max_size=4),
    pa.list_(pa.float32(), 3): st.lists(SMALL, min_size=3, max_size=3),
}


@pytest.mark.parametrize("kind", VALUES, ids=str)
@given(data=st.data())
def test_equal_values_and_only_they_have_equal_digests(kind: pa.DataType, data: Any) -> None:
    values = data.draw(st.lists(st.none() | VALUES[kind], max_size=12))
    found = digests(values, kind)
    for one, first in zip(values, found, strict=True):
        for other, second in zip(values, found, strict=True):
            assert (first == second) == (one == other)


@pytest.mark.parametrize("kind", VALUES, ids=str)
@given(data=st.data())
def test_a_slice_has_the_digests_of_its_values(kind: pa.DataType, data: Any) -> None:
    values = data.draw(st.lists(st.none() | VALUES[kind], min_size=3, max_size=8))
    whole = pa.array(values, kind)
    part = digest_rows({"p": whole.slice(1, len(values) - 2)}, len(values) - 2)
    assert np.array_equal(part, digest_rows({"p": whole}, len(values))[1:-1])


def test_a_property_without_a_value_adds_nothing() -> None:
    ids = pa.array(["a", "b"])
    nothing = pa.nulls(2, pa.string())
    alone = digest_rows({"@id": ids}, 2)
    assert np.array_equal(alone, digest_rows({"@id": ids, "p": nothing}, 2))


def test_the_order_of_columns_does_not_matter_and_their_identity_does() -> None:
    one, other = pa.array(["x"]), pa.array(["y"])
    straight = digest_rows({"p": one, "q": other}, 1)
    assert np.array_equal(straight, digest_rows({"q": other, "p": one}, 1))
    assert not np.array_equal(straight, digest_rows({"p": other, "q": one}, 1))


def test_a_number_is_the_same_in_every_width() -> None:
    assert digests([7, -7], pa.int32()) == digests([7, -7], pa.int64())
    assert digests([1.5], pa.float32()) == digests([1.5], pa.float64())
    assert digests([7, -7, 0], pa.int32()) == digests([7.0, -7.0, -0.0], pa.float64())
    assert digests([[7, 8]], pa.list_(pa.int32())) == digests([[7.0, 8.0]], pa.list_(pa.float64()))


def test_a_float_is_not_the_integer_that_has_its_bits() -> None:
    (whole,) = digests([1], pa.int64())
    (tiny,) = digests([5e-324], pa.float64())
    assert whole != tiny


def test_both_zeros_are_one() -> None:
    assert digests([0.0], pa.float64()) == digests([-0.0], pa.float64())
    vector = pa.list_(pa.float32(), 2)
    assert digests([[0.0, 1.0]], vector) == digests([[-0.0, 1.0]], vector)


def test_no_rows_have_no_digests() -> None:
    assert digest_rows({"p": pa.array([], pa.string())}, 0).shape == (0, 2)
    assert digests([None, None], pa.string()) == [(0, 0), (0, 0)]
