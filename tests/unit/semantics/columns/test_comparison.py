"""Comparisons of columns against comparisons of values."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.datatypes.arrow import arrow_type
from omnigraph.datatypes.types import BOOL, DATE, DATETIME, F64, I64, STRING, Scalar, ScalarType
from omnigraph.ir.expressions import CompareOp
from omnigraph.semantics.columns.column import Column, Vector
from omnigraph.semantics.columns.comparison import ColumnOperand, ConstantOperand, among, compare
from omnigraph.semantics.predicates import contains_item
from omnigraph.semantics.values import canonical
from omnigraph.semantics.values import compare as compare_values

F32, I32, U64 = (ScalarType(scalar) for scalar in (Scalar.F32, Scalar.I32, Scalar.U64))
NAN = float("nan")
DAY = dt.date(2026, 1, 1)
INSTANT = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)

VALUES: dict[Any, list[Any]] = {
    I64: [None, 0, 1, -1, 2**53, 2**53 + 1, -(2**63), 2**63 - 1],
    I32: [None, 0, 7, -(2**31), 2**31 - 1],
    U64: [None, 0, 7, 2**53 + 1, 2**63, 2**64 - 1],
    F64: [None, 0.0, -0.0, 0.1, 1.5, float(2**53), 1e300, NAN, float("inf"), -1e300],
    F32: [None, 0.0, -0.0, 0.5, 0.10000000149011612, NAN],
    STRING: [None, "", "a", "ab", "B", "ä"],
    BOOL: [None, True, False],
    DATE: [None, DAY, dt.date(1969, 12, 31)],
    DATETIME: [None, INSTANT, dt.datetime(1960, 1, 1, 0, 0, 0, 1, tzinfo=dt.UTC)],
}
NUMBERS = (I64, I32, U64, F64, F32)
PAIRS = [
    (one, other)
    for one, other in itertools.product(VALUES, repeat=2)
    if one == other or (one in NUMBERS and other in NUMBERS)
]


def column(dtype: Any, values: list[Any], *, kept: bool = False) -> ColumnOperand:
    return ColumnOperand(Vector(Column(pa.array(values, arrow_type(dtype)), kept=kept)), dtype)


def truths(found: Any) -> list[bool | None]:
    unknown = [False] * len(found.yes) if found.unknown is None else found.unknown.tolist()
    return [None if maybe else yes for yes, maybe in zip(found.yes.tolist(), unknown, strict=True)]


@pytest.mark.parametrize(("left", "right"), PAIRS)
@pytest.mark.parametrize("op", list(CompareOp))
def test_two_columns_compare_as_their_values_do(left: Any, right: Any, op: CompareOp) -> None:
    pairs = list(itertools.product(VALUES[left], VALUES[right]))
    ones, others = [one for one, _ in pairs], [other for _, other in pairs]
    expected = [
        compare_values(op, canonical(one, left), canonical(other, right)) for one, other in pairs
    ]
    found = compare(op, column(left, ones), column(right, others), len(pairs))
    assert truths(found) == expected


@pytest.mark.parametrize(("left", "right"), PAIRS)
@pytest.mark.parametrize("kept", [False, True])
def test_a_column_compares_with_a_constant_as_its_values_do(
    left: Any, right: Any, kept: bool
) -> None:
    values = column(left, VALUES[left], kept=kept)
    for op, constant in itertools.product(CompareOp, VALUES[right]):
        other = canonical(constant, right)
        expected = [compare_values(op, canonical(value, left), other) for value in VALUES[left]]
        found = compare(op, values, ConstantOperand(other, right), len(VALUES[left]))
        assert truths(found) == expected, (op, constant)
        mirrored = [compare_values(op, other, canonical(value, left)) for value in VALUES[left]]
        found = compare(op, ConstantOperand(other, right), values, len(VALUES[left]))
        assert truths(found) == mirrored, (op, constant)


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_membership_is_equality_with_one_of_the_options(left: Any, right: Any) -> None:
    values = column(left, VALUES[left])
    choices = [canonical(value, right) for value in VALUES[right]]
    for options in ((), tuple(choices), tuple(choices[1:3])):
        expected = [contains_item(canonical(value, left), options) for value in VALUES[left]]
        assert truths(among(values, options, right)) == expected


def test_two_constants_are_compared_once() -> None:
    found = compare(CompareOp.LT, ConstantOperand(1, I64), ConstantOperand(2, I64), 3)
    assert truths(found) == [True, True, True]
