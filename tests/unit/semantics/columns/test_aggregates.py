"""Aggregates of groups: literal tables, exact rationals and the reference evaluator."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.datatypes.arrow import arrow_type
from omnigraph.datatypes.types import F64, I64, STRING, DataType, Scalar, ScalarType
from omnigraph.errors import LimitExceeded
from omnigraph.ir.expressions import Aggregate, AggregateFunc, Const
from omnigraph.semantics.columns.aggregates import count_rows, fold_groups
from omnigraph.semantics.columns.column import Column, Vector
from omnigraph.testing.reference.aggregates import aggregate
from omnigraph.testing.reference.graph import Refused

F32, I32, U64 = (ScalarType(scalar) for scalar in (Scalar.F32, Scalar.I32, Scalar.U64))

numbers: list[tuple[DataType, st.SearchStrategy[Any]]] = [
    (I64, st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)),
    (U64, st.integers(0, 2**64 - 1) | st.integers(0, 3)),
    (I32, st.integers(-(2**31), 2**31 - 1)),
    (
        F64,
        st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.1, 1e16, -1e16, 1.0]),
    ),
    (F32, st.floats(width=32, allow_nan=False, allow_infinity=False)),
    (STRING, st.text(max_size=3)),
]


def folded(func: AggregateFunc, dtype: DataType) -> DataType:
    if func is AggregateFunc.COUNT:
        return I64
    if func is AggregateFunc.AVG:
        return F64
    if func is AggregateFunc.SUM:
        return F64 if dtype in (F64, F32) else I64
    return dtype


@pytest.mark.parametrize(("dtype", "values"), numbers)
@given(data=st.data())
def test_groups_fold_as_their_values_would(
    dtype: DataType, values: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    sums = (AggregateFunc.SUM, AggregateFunc.AVG)
    # Others are aggregates of whole rows.
    folds = (AggregateFunc.COUNT, AggregateFunc.MIN, AggregateFunc.MAX, *sums)
    funcs = [func for func in folds if dtype != STRING or func not in sums]
    func, distinct = data.draw(st.sampled_from(funcs)), data.draw(st.booleans())
    rows = data.draw(st.lists(st.tuples(st.integers(0, 2), st.none() | values), max_size=12))
    wanted = Aggregate(func, Const(0, I64), distinct, folded(func, dtype))
    vector = Vector(Column(pa.array([value for _, value in rows], arrow_type(dtype))))
    groups = np.array([group for group, _ in rows], np.int64)
    try:
        expected = [
            aggregate(func, [value for group, value in rows if group == number], distinct=distinct)
            for number in range(3)
        ]
    except Refused:
        with pytest.raises(LimitExceeded):
            fold_groups(wanted, vector, groups, 3)
        return
    assert fold_groups(wanted, vector, groups, 3).arrow().to_pylist() == expected


def test_a_sum_of_floats_is_rounded_once_whatever_the_order() -> None:
    values = [1e16, 1.0, -1e16, 0.1, 3e-300]
    groups = np.zeros(len(values), np.int64)
    wanted = Aggregate(AggregateFunc.SUM, Const(0, F64), distinct=False, dtype=F64)
    for order in (values, values[::-1], sorted(values)):
        vector = Vector(Column(pa.array(order)))
        assert fold_groups(wanted, vector, groups, 1).cells() == [1.1]


def test_infinities_and_nan_are_what_they_are() -> None:
    wanted = Aggregate(AggregateFunc.SUM, Const(0, F64), distinct=False, dtype=F64)
    vector = Vector(Column(pa.array([float("inf"), 1.0, float("inf"), float("-inf")])))
    found = fold_groups(wanted, vector, np.array([0, 0, 1, 1]), 2).cells()
    assert found[0] == float("inf")
    assert found[1] != found[1]


def test_numbers_at_the_end_of_the_floats_are_added_too() -> None:
    wanted = Aggregate(AggregateFunc.SUM, Const(0, F64), distinct=False, dtype=F64)
    vector = Vector(Column(pa.array([1.5e308, -1.5e308, 7.0])))
    assert fold_groups(wanted, vector, np.zeros(3, np.int64), 1).cells() == [7.0]


def exactly(values: list[float], divisor: int) -> float:
    """The oracle: rational numbers, rounded at the end."""
    try:
        return float(sum(map(Fraction, values)) / divisor)
    except OverflowError:
        return math.inf if sum(map(Fraction, values)) > 0 else -math.inf


LARGE = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [1.7e308, -1.7e308, 1e308, 2.0**990, 5e-324, 0.1, 1e16]
)


@given(st.lists(LARGE, min_size=1, max_size=12), st.integers(1, 10**20))
def test_sums_and_means_are_exact_and_rounded_once(values: list[float], times: int) -> None:
    vector, groups = Vector(Column(pa.array(values))), np.zeros(len(values), np.int64)
    total = Aggregate(AggregateFunc.SUM, Const(0, F64), distinct=False, dtype=F64)
    mean = Aggregate(AggregateFunc.AVG, Const(0, F64), distinct=False, dtype=F64)
    assert fold_groups(total, vector, groups, 1).cells() == [exactly(values, 1)]
    assert fold_groups(mean, vector, groups, 1).cells() == [exactly(values, len(values))]
    # Rows that each stand for several: the mean stays, the sum is multiplied before it is rounded.
    assert fold_groups(mean, vector, groups, 1, times).cells() == [exactly(values, len(values))]
    whole = fold_groups(total, vector, groups, 1, times).cells()
    try:
        assert whole == [float(sum(map(Fraction, values)) * times)]
    except OverflowError:
        assert whole == [math.inf if sum(map(Fraction, values)) > 0 else -math.inf]


def test_the_mean_of_large_floats_is_finite() -> None:
    mean = Aggregate(AggregateFunc.AVG, Const(0, F64), distinct=False, dtype=F64)
    vector = Vector(Column(pa.array([1.7e308, 1.7e308, 1.7e308])))
    assert fold_groups(mean, vector, np.zeros(3, np.int64), 1).cells() == [1.7e308]


def test_a_count_beyond_64_bits_is_an_error() -> None:
    with pytest.raises(LimitExceeded) as caught:
        count_rows(np.zeros(20_000, np.int64), 1, 20_000**4)
    assert caught.value.code == "query.count_overflow"


COUNT, SUM, AVG, MIN, MAX = (
    AggregateFunc.COUNT,
    AggregateFunc.SUM,
    AggregateFunc.AVG,
    AggregateFunc.MIN,
    AggregateFunc.MAX,
)
EDGE = 2**63 - 1


def one_group(
    func: AggregateFunc, values: list[Any], dtype: DataType, *, distinct: bool = False
) -> Any:
    wanted = Aggregate(func, Const(0, dtype), distinct, folded(func, dtype))
    vector = Vector(Column(pa.array(values, arrow_type(dtype))))
    [found] = fold_groups(wanted, vector, np.zeros(len(values), np.int64), 1).arrow().to_pylist()
    return found


@pytest.mark.parametrize(
    ("func", "values", "dtype", "expected"),
    [
        (COUNT, [1, None, 1], I64, 2),
        (SUM, [1, None, 1], I64, 2),
        (AVG, [1, None, 2], I64, 1.5),
        (MIN, [2, None, 1], I64, 1),
        (MAX, [2, None, 1], I64, 2),
        (MIN, ["b", "a", None], STRING, "a"),
        (MAX, ["b", "a", None], STRING, "b"),
        (SUM, [EDGE, -1, 1], I64, EDGE),
        (SUM, [1e16, 1.0, -1e16, 0.1], F64, 1.1),
        (SUM, [1e308, 1e308], F64, math.inf),
        *((COUNT, values, I64, 0) for values in ([], [None, None])),
        *((func, values, F64, None) for func in (SUM, AVG, MIN, MAX) for values in ([], [None])),
    ],
)
def test_an_aggregate_skips_nulls(
    func: AggregateFunc, values: list[Any], dtype: DataType, expected: Any
) -> None:
    found = one_group(func, values, dtype)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(("func", "expected"), [(COUNT, 2), (SUM, 6), (AVG, 3.0)])
def test_a_distinct_aggregate_counts_equal_values_once(func: AggregateFunc, expected: Any) -> None:
    assert one_group(func, [2, 2, 4, None], I64, distinct=True) == expected


def test_a_sum_beyond_its_type_is_an_error() -> None:
    with pytest.raises(LimitExceeded) as caught:
        one_group(SUM, [EDGE, 1], I64)
    assert caught.value.code == "query.sum_overflow"
