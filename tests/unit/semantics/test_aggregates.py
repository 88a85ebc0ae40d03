"""Folds, and what they make of NULLs and of nothing."""

import math

import pytest

from omnigraph.datatypes.types import F64, I64, STRING, Scalar, ScalarType
from omnigraph.errors import LimitExceeded
from omnigraph.ir.expressions import AggregateFunc, Value
from omnigraph.semantics.aggregates import fold

COUNT, SUM, AVG, MIN, MAX = (
    AggregateFunc.COUNT,
    AggregateFunc.SUM,
    AggregateFunc.AVG,
    AggregateFunc.MIN,
    AggregateFunc.MAX,
)


@pytest.mark.parametrize(
    ("func", "values", "outcome"),
    [
        (COUNT, [1, None, 1], 2),
        (SUM, [1, None, 1], 2),
        (AVG, [1, None, 2], 1.5),
        (MIN, [2, None, 1], 1),
        (MAX, [2, None, 1], 2),
    ],
)
def test_nulls_are_skipped(func: AggregateFunc, values: list[Value], outcome: Value) -> None:
    assert fold(func, values, distinct=False, dtype=I64) == outcome


@pytest.mark.parametrize("values", [[], [None, None]])
def test_a_count_of_nothing_is_zero_and_every_other_fold_null(values: list[Value]) -> None:
    assert fold(COUNT, values, distinct=False, dtype=I64) == 0
    for func in (SUM, AVG, MIN, MAX):
        assert fold(func, values, distinct=False, dtype=F64) is None


def test_distinct_folds_equal_values_once() -> None:
    values: list[Value] = [2, 2, 4, None]
    assert fold(COUNT, values, distinct=True, dtype=I64) == 2
    assert fold(SUM, values, distinct=True, dtype=I64) == 6
    assert fold(AVG, values, distinct=True, dtype=F64) == 3.0


def test_strings_have_a_smallest_and_a_largest() -> None:
    assert fold(MIN, ["b", "a", None], distinct=False, dtype=STRING) == "a"
    assert fold(MAX, ["b", "a", None], distinct=False, dtype=STRING) == "b"


def test_sums_of_integers_are_exact_to_the_edge_of_their_type() -> None:
    edge = 2**63 - 1
    assert fold(SUM, [edge, -1, 1], distinct=False, dtype=I64) == edge
    with pytest.raises(LimitExceeded) as caught:
        fold(SUM, [edge, 1], distinct=False, dtype=I64)
    assert caught.value.code == "query.sum_overflow"
    unsigned = ScalarType(Scalar.U64)
    assert fold(SUM, [edge, 1], distinct=False, dtype=unsigned) == edge + 1


def test_sums_of_floats_do_not_depend_on_their_order() -> None:
    values: list[Value] = [1e16, 1.0, -1e16, 0.1]
    assert fold(SUM, values, distinct=False, dtype=F64) == 1.1
    assert fold(SUM, values[::-1], distinct=False, dtype=F64) == 1.1


def test_sums_beyond_the_floats_are_infinite_and_not_an_error() -> None:
    assert fold(SUM, [1e308, 1e308], distinct=False, dtype=F64) == math.inf
    assert math.isnan(float(str(fold(SUM, [math.inf, -math.inf], distinct=False, dtype=F64))))


def test_an_average_of_integers_is_a_float() -> None:
    average = fold(AVG, [1, 2], distinct=False, dtype=F64)
    assert average == 1.5
    assert isinstance(fold(AVG, [2, 2], distinct=False, dtype=F64), float)
