"""Literals take on the type of what they meet."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest

from omnigraph.compiler.literals import LiteralMismatch, compared_with, stored_in, typed
from omnigraph.datatypes.types import (
    BOOL,
    DATE,
    DATETIME,
    F64,
    I64,
    STRING,
    DataType,
    EnumType,
    Scalar,
    ScalarType,
    VectorType,
)
from omnigraph.ir.expressions import Const

if TYPE_CHECKING:
    from omnigraph.language.gq.ast import Value

I32 = ScalarType(Scalar.I32)
U64 = ScalarType(Scalar.U64)
F32 = ScalarType(Scalar.F32)
BLOB = ScalarType(Scalar.BLOB)
COLOUR = EnumType(("blue", "red"))
NOON = dt.datetime(2025, 1, 2, 12, tzinfo=dt.UTC)
MIDNIGHT = dt.datetime(2025, 1, 2, tzinfo=dt.UTC)
DAY = dt.date(2025, 1, 2)


def const(value: Value) -> Const:
    found = typed(value)
    assert isinstance(found, Const)
    return found


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ("x", STRING),
        (True, BOOL),
        (-(2**63), I64),
        (2**63, U64),
        (0.5, F64),
        (DAY, DATE),
        (NOON, DATETIME),
        (None, STRING),
    ],
)
def test_a_literal_alone_has_a_type(value: Value, dtype: DataType) -> None:
    assert typed(value) == Const(value, dtype)


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, float("inf"), float("nan")])
def test_a_number_without_a_type_is_a_misfit(value: float) -> None:
    assert isinstance(typed(value), LiteralMismatch)


@pytest.mark.parametrize(
    ("value", "beside", "expected"),
    [
        (5, I32, Const(5, I32)),
        (5.0, I32, Const(5, I32)),
        (5, F64, Const(5.0, F64)),
        (0.1, F32, Const(0.10000000149011612, F32)),
        ("red", COLOUR, Const("red", COLOUR)),
        ("2025-01-02", DATE, Const(DAY, DATE)),
        ("2025-01-02T12:00:00Z", DATETIME, Const(NOON, DATETIME)),
        (DAY, DATETIME, Const(MIDNIGHT, DATETIME)),
        (MIDNIGHT, DATE, Const(DAY, DATE)),
        ("x", STRING, Const("x", STRING)),
        (True, BOOL, Const(True, BOOL)),
    ],
)
def test_a_literal_becomes_what_it_is_compared_with(
    value: Value, beside: DataType, expected: Const
) -> None:
    assert compared_with(const(value), beside) == expected


@pytest.mark.parametrize(
    ("value", "beside"),
    [(3_000_000_000, I32), (2.5, I32), (-1, U64), (1e300, F32), (2**53 + 1, F64)],
)
def test_a_number_out_of_the_domain_keeps_its_own_type(value: float, beside: DataType) -> None:
    assert compared_with(const(value), beside) == const(value)


@pytest.mark.parametrize(
    ("value", "beside"),
    [
        ("5", I32),
        (5, STRING),
        (5, BOOL),
        (True, I32),
        ("green", COLOUR),
        (5, COLOUR),
        (NOON, DATE),
        ("soon", DATETIME),
        (5, DATE),
        (5, VectorType(2)),
    ],
)
def test_what_has_no_place_beside_a_type_is_a_misfit(value: Value, beside: DataType) -> None:
    assert isinstance(compared_with(const(value), beside), LiteralMismatch)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(3_000_000_000, I32), (2.5, I32), (-1, U64), (1e300, F32), (NOON, DATE), (MIDNIGHT, DATE)],
)
def test_what_a_property_cannot_hold_is_not_stored(value: Value, dtype: DataType) -> None:
    assert isinstance(stored_in(const(value), dtype), LiteralMismatch)


def test_null_is_stored_with_the_type_of_the_property() -> None:
    assert stored_in(const(None), I32) == Const(None, I32)


def test_a_blob_is_stored_as_its_bytes() -> None:
    assert stored_in(const("base64:aGk="), BLOB) == Const(b"hi", BLOB)


def test_the_closest_member_is_suggested_or_else_the_first_ones() -> None:
    assert stored_in(const("blu"), COLOUR) == LiteralMismatch(
        '"blu" is not a member of the enum', "did you mean `blue`?"
    )
    many = EnumType(tuple(f"member{at:02}" for at in range(20)))
    misfit = stored_in(const("x"), many)
    assert isinstance(misfit, LiteralMismatch)
    assert misfit.remedy is not None
    assert misfit.remedy.endswith("member11, …")
