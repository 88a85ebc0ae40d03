"""JSON becomes typed values, or a reason why not."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from omnigraph.datatypes.types import (
    BOOL,
    DATE,
    DATETIME,
    F64,
    I64,
    STRING,
    DataType,
    EnumType,
    ListType,
    Scalar,
    ScalarType,
    VectorType,
)
from omnigraph.datatypes.values import (
    ValueProblem,
    canonical_key,
    coerce_json,
    parse_date,
    parse_datetime,
    spell_datetime,
)

I32, U32, U64, F32, BLOB = (
    ScalarType(scalar) for scalar in (Scalar.I32, Scalar.U32, Scalar.U64, Scalar.F32, Scalar.BLOB)
)
MOOD = EnumType(("glad", "sad"))
UTC = dt.UTC


def problem_of(value: Any, dtype: DataType) -> ValueProblem:
    with pytest.raises(ValueProblem) as caught:
        coerce_json(value, dtype)
    assert caught.value.message == str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        ("text", STRING, "text"),
        ("", STRING, ""),
        ("é😀", STRING, "é😀"),
        (True, BOOL, True),
        (89, I32, 89),
        (89.0, I32, 89),
        (-(2**31), I32, -(2**31)),
        (2**32 - 1, U32, 2**32 - 1),
        (2**63 - 1, I64, 2**63 - 1),
        ("9223372036854775807", I64, 2**63 - 1),
        ("-5", I64, -5),
        ("18446744073709551615", U64, 2**64 - 1),
        (np.int64(-5), I32, -5),
        (np.uint64(2**64 - 1), U64, 2**64 - 1),
        (np.float32(3), I32, 3),
        (np.float32(0.5), F64, 0.5),
        (np.int8(3), F32, 3.0),
        (np.bool_(1), BOOL, True),
        (3, F64, 3.0),
        (0.1, F64, 0.1),
        (0.5, F32, 0.5),
        (0.1, F32, 0.10000000149011612),
        ("2026-02-28", DATE, dt.date(2026, 2, 28)),
        (dt.date(2026, 2, 28), DATE, dt.date(2026, 2, 28)),
        ("2026-01-31T12:00:00Z", DATETIME, dt.datetime(2026, 1, 31, 12, tzinfo=UTC)),
        ("base64:aGk=", BLOB, b"hi"),
        ("base64:", BLOB, b""),
        (b"hi", BLOB, b"hi"),
        (bytearray(b"hi"), BLOB, b"hi"),
        (memoryview(b"hi"), BLOB, b"hi"),
        ("glad", MOOD, "glad"),
        ([1, 2.5], VectorType(2), [1.0, 2.5]),
        ((1, 2), VectorType(2), [1.0, 2.0]),
        (["a", "b"], ListType(Scalar.STRING), ["a", "b"]),
        ([], ListType(Scalar.STRING), []),
        (["5", 6], ListType(Scalar.I64), [5, 6]),
        (["2026-01-01"], ListType(Scalar.DATE), [dt.date(2026, 1, 1)]),
    ],
)
def test_what_fits_becomes_a_value_of_the_type(value: Any, dtype: DataType, expected: Any) -> None:
    found = coerce_json(value, dtype)
    assert found == expected
    assert type(found) is type(expected)
    # A value of the type is a value of the type.
    assert coerce_json(found, dtype) == expected


@pytest.mark.parametrize(
    ("value", "dtype", "code"),
    [
        (None, STRING, "value.null"),
        (3, STRING, "value.type"),
        ("\ud800", STRING, "value.unicode"),
        (1, BOOL, "value.type"),
        ("true", BOOL, "value.type"),
        (True, I32, "value.type"),
        ("5", I32, "value.type"),
        (89.5, I32, "value.type"),
        (math.nan, I32, "value.type"),
        (math.inf, I64, "value.type"),
        (2.0**60, I64, "value.type"),
        (2**31, I32, "value.range"),
        (-1, U32, "value.range"),
        (2**63, I64, "value.range"),
        ("9223372036854775808", I64, "value.range"),
        ("-1", U64, "value.range"),
        ("1e3", I64, "value.type"),
        (" 5", I64, "value.type"),
        ("9" * 30, I64, "value.type"),
        pytest.param(10**5000, I64, "value.range", id="a number of 5,000 digits"),
        ([], I64, "value.type"),
        (True, F64, "value.type"),
        ("0.5", F64, "value.type"),
        (math.nan, F64, "value.range"),
        (math.inf, F64, "value.range"),
        (10**400, F64, "value.range"),
        (1e39, F32, "value.range"),
        ("2026-02-30", DATE, "value.format"),
        ("2026-2-3", DATE, "value.format"),
        ("20260203", DATE, "value.format"),
        (5, DATE, "value.type"),
        (dt.datetime(2026, 1, 1, tzinfo=UTC), DATE, "value.type"),
        (5, DATETIME, "value.type"),
        (dt.date(2026, 1, 1), DATETIME, "value.type"),
        ("2026-01-01", DATETIME, "value.format"),
        ("aGk=", BLOB, "value.type"),
        ("base64:!", BLOB, "value.format"),
        ("base64:a", BLOB, "value.format"),
        ("base64:é", BLOB, "value.format"),
        (5, BLOB, "value.type"),
        ("angry", MOOD, "value.member"),
        (5, MOOD, "value.type"),
        ([1], VectorType(2), "value.length"),
        ("ab", VectorType(2), "value.type"),
        ([1, None], VectorType(2), "value.type"),
        ([1, math.nan], VectorType(2), "value.range"),
        ([1, 1e39], VectorType(2), "value.range"),
        ("ab", ListType(Scalar.STRING), "value.type"),
        ({"a": 1}, ListType(Scalar.STRING), "value.type"),
        (["a", None], ListType(Scalar.STRING), "value.null"),
        (["a", 5], ListType(Scalar.STRING), "value.type"),
        (object(), STRING, "value.type"),
        (pd.NaT, DATETIME, "value.type"),
        (pd.NaT, DATE, "value.type"),
        (pd.NA, I32, "value.type"),
        (np.array([1, 2]), I32, "value.type"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_code(value: Any, dtype: DataType, code: str) -> None:
    problem = problem_of(value, dtype)
    assert problem.code == code
    assert len(problem.message) < 200
    problem.message.encode()


def test_null_is_a_value_where_it_is_allowed() -> None:
    assert coerce_json(None, I64, nullable=True) is None
    assert problem_of(None, I64).message == "null is not a value of I64"


def test_a_wrong_item_is_named_by_its_position() -> None:
    assert problem_of(["a", 5], ListType(Scalar.STRING)).message.startswith("item 1:")
    assert problem_of([1, "x"], VectorType(2)).message.startswith("element 1:")


def test_a_long_text_is_shown_in_part() -> None:
    assert len(problem_of("x" * 10_000, I64).message) < 100


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-31T12:00:00Z", (2026, 1, 31, 12, 0, 0, 0)),
        ("2026-01-31t12:00:00z", (2026, 1, 31, 12, 0, 0, 0)),
        ("2026-01-31 12:00:00", (2026, 1, 31, 12, 0, 0, 0)),
        ("2026-01-31T12:00", (2026, 1, 31, 12, 0, 0, 0)),
        ("2026-01-31T12:00:00.5Z", (2026, 1, 31, 12, 0, 0, 500_000)),
        ("2026-01-31T12:00:00.123456789Z", (2026, 1, 31, 12, 0, 0, 123_456)),
        ("2026-01-31T12:00:00+05:30", (2026, 1, 31, 6, 30, 0, 0)),
        ("2026-01-31T00:30:00-01:00", (2026, 1, 31, 1, 30, 0, 0)),
    ],
)
def test_datetimes_are_read_as_utc(text: str, expected: tuple[int, ...]) -> None:
    found = parse_datetime(text)
    assert found.tzinfo is UTC
    assert (*found.timetuple()[:6], found.microsecond) == expected


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-31",
        "2026-01-31T24:00:00Z",
        "2026-01-31T12:00:60Z",
        "2026-13-31T12:00:00Z",
        "2026-01-31T12:00.5Z",
        "2026-01-31T12:00:00+24:00",
        "2026-W05-6T12:00:00Z",
        "0001-01-01T00:00:00+01:00",
        "0000-01-01T00:00:00Z",
        "now",
    ],
)
def test_what_is_no_datetime_is_refused(text: str) -> None:
    with pytest.raises(ValueProblem):
        parse_datetime(text)


def test_datetimes_from_python_are_moved_to_utc() -> None:
    east = dt.timezone(dt.timedelta(hours=2))
    naive = dt.datetime(2026, 1, 1, 12)  # noqa: DTZ001 - naive on purpose
    assert coerce_json(naive, DATETIME) == dt.datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert coerce_json(dt.datetime(2026, 1, 1, 12, tzinfo=east), DATETIME) == dt.datetime(
        2026, 1, 1, 10, tzinfo=UTC
    )
    first = dt.datetime(1, 1, 1, tzinfo=east)
    assert problem_of(first, DATETIME).code == "value.range"


def test_dates_are_read_in_one_form() -> None:
    assert parse_date("2024-02-29") == dt.date(2024, 2, 29)
    with pytest.raises(ValueProblem, match="not a valid date"):
        parse_date("2023-02-29")


@pytest.mark.parametrize(
    ("value", "spelled"),
    [
        ("text", "text"),
        ("", ""),
        (5, "5"),
        (-5, "-5"),
        (True, "true"),
        (False, "false"),
        (5.0, "5"),
        (-0.0, "0"),
        (0.0, "0"),
        (0.1, "0.1"),
        (1e22, "1e+22"),
        (dt.date(2026, 1, 31), "2026-01-31"),
        (dt.datetime(2026, 1, 31, 12, tzinfo=UTC), "2026-01-31T12:00:00Z"),
        (dt.datetime(2026, 1, 31, 12, 0, 0, 500_000, tzinfo=UTC), "2026-01-31T12:00:00.5Z"),
        (dt.datetime(2026, 1, 31, 12, 0, 10, tzinfo=UTC), "2026-01-31T12:00:10Z"),
    ],
)
def test_a_key_of_one_value_is_its_canonical_spelling(value: Any, spelled: str) -> None:
    assert canonical_key([value]) == spelled


def test_a_key_of_several_values_is_a_dense_array_of_their_spellings() -> None:
    assert canonical_key(["a", 5, True, dt.date(2026, 1, 1)]) == '["a","5","true","2026-01-01"]'
    assert canonical_key(["é", '"']) == '["é","\\""]'


@pytest.mark.parametrize("value", [None, b"x", [1.0], math.nan, math.inf])
def test_what_cannot_identify_is_no_key(value: Any) -> None:
    with pytest.raises(ValueProblem) as caught:
        canonical_key([value])
    assert caught.value.code == "value.key"


def test_a_key_has_at_least_one_value() -> None:
    with pytest.raises(ValueProblem, match="at least one"):
        canonical_key([])


def test_a_naive_datetime_is_spelled_as_utc() -> None:
    naive = dt.datetime(2026, 1, 1)  # noqa: DTZ001 - naive on purpose
    assert spell_datetime(naive) == "2026-01-01T00:00:00Z"
