"""Literals: the type they have by themselves, and how they take on the type of what they meet.

Fitting a literal to a type can fail; a ``LiteralMismatch`` then holds the reason, and the calling
rule adds code and place.
"""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING

from omnigraph.datatypes.types import (
    BOOL,
    DATE,
    DATETIME,
    F64,
    I64,
    INTEGER_RANGES,
    STRING,
    DataType,
    EnumType,
    Scalar,
    ScalarType,
    is_numeric,
)
from omnigraph.datatypes.values import ValueProblem, coerce_json
from omnigraph.frozen import frozen
from omnigraph.ir.expressions import Const
from omnigraph.language.diagnostics import did_you_mean

if TYPE_CHECKING:
    from omnigraph.language.gq.ast import Value

__all__ = ["LiteralMismatch", "compared_with", "stored_in", "typed"]

_U64 = ScalarType(Scalar.U64)
_F32 = ScalarType(Scalar.F32)
_SHOWN_MEMBERS = 12


@frozen
class LiteralMismatch:
    """Why a literal does not fit."""

    reason: str
    remedy: str | None = None


def typed(value: Value) -> Const | LiteralMismatch:
    """A literal with the type that it has where nothing else is known."""
    match value:
        case None | str():
            return Const(value, STRING)
        case bool():
            return Const(value, BOOL)
        case int():
            return _typed_integer(value)
        case float():
            return (
                Const(value, F64)
                if math.isfinite(value)
                else LiteralMismatch("not a finite number")
            )
        case dt.datetime():
            return stored_in(Const(value, DATETIME), DATETIME)
        case _:
            return Const(value, DATE)


def compared_with(literal: Const, dtype: DataType) -> Const | LiteralMismatch:
    """The literal as it stands beside a value of the type in a comparison.

    A number that the type cannot hold keeps its own type: the comparison still has an answer.
    """
    value = literal.value
    if _is_number(value) and isinstance(dtype, ScalarType) and is_numeric(dtype):
        return _number_beside(literal, dtype.scalar)
    if dtype == DATE and isinstance(value, dt.datetime) and value.time() == dt.time():
        return Const(value.date(), DATE)
    return stored_in(literal, dtype)


def stored_in(literal: Const, dtype: DataType) -> Const | LiteralMismatch:
    """The literal as a value of a property; a typed NULL where it is null."""
    value = literal.value
    if value is None:
        return Const(None, dtype)
    if isinstance(dtype, EnumType) and isinstance(value, str) and value not in dtype.values:
        return _not_a_member(value, dtype.values)
    if isinstance(value, str) and is_numeric(dtype):
        # JSON may spell a 64-bit integer as text; a query has no reason to.
        return LiteralMismatch("this is a String", "write the number without quotes")
    if dtype == DATETIME and isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        # The day begins at midnight UTC.
        value = dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC)
    try:
        fitted = coerce_json(value, dtype)
    except ValueProblem as problem:
        return LiteralMismatch(problem.message)
    return Const(fitted, dtype)  # type: ignore[arg-type] # scalars only: lists are not literals


def _typed_integer(value: int) -> Const | LiteralMismatch:
    if -(2**63) <= value < 2**63:
        return Const(value, I64)
    if 0 <= value < 2**64:
        return Const(value, _U64)
    return LiteralMismatch(
        "the integer does not fit into 64 bits", "write it as a float, with `.0`"
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number_beside(literal: Const, scalar: Scalar) -> Const:
    value = literal.value
    assert isinstance(value, int | float)  # noqa: S101 - narrowing; the caller asked _is_number
    if scalar in INTEGER_RANGES:
        low, high = INTEGER_RANGES[scalar]
        whole = isinstance(value, int) or value.is_integer()
        return Const(int(value), ScalarType(scalar)) if whole and low <= value <= high else literal
    if scalar is Scalar.F32:
        # Stored values are narrowed; a wider literal would never be equal to one.
        narrowed = stored_in(literal, _F32)
        return literal if isinstance(narrowed, LiteralMismatch) else narrowed
    return Const(float(value), F64) if float(value) == value else literal


def _not_a_member(value: str, values: tuple[str, ...]) -> LiteralMismatch:
    shown = ", ".join(values[:_SHOWN_MEMBERS]) + (", …" if len(values) > _SHOWN_MEMBERS else "")
    return LiteralMismatch(
        f'"{value}" is not a member of the enum',
        did_you_mean(value, values) or f"the members are {shown}",
    )
