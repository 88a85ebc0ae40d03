"""Conversions between types. A value that has no equal in a type is refused, or NULL if tried."""

from __future__ import annotations

import datetime as dt
import math
import re
from typing import TYPE_CHECKING, Any, TypeVar

from omnigraph.datatypes.types import (
    FLOATS,
    INTEGER_RANGES,
    ListType,
    Scalar,
    ScalarType,
    spell_type,
)
from omnigraph.datatypes.values import ValueProblem, parse_date, parse_datetime, spell_datetime
from omnigraph.errors import InvalidInput
from omnigraph.semantics.values import canonical

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.datatypes.types import DataType

_Date = TypeVar("_Date", bound=dt.date)

__all__ = ["cast", "try_cast", "widened"]

_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,400}(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,4})?")
_TRUTHS = {"true": True, "false": False}


class _Unequal(Exception):
    """The value has no equal in the type."""


def cast(dtype: DataType, value: Any) -> Any:
    """The value in another type."""
    try:
        return _converted(dtype, value)
    except _Unequal:
        shown = repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:60]}…"
        raise InvalidInput(
            "query.bad_cast",
            f"{shown} cannot be cast to {spell_type(dtype)}",
            remedy="use `try_cast`, which gives NULL instead",
        ) from None


def try_cast(dtype: DataType, value: Any) -> Any:
    """The same; NULL for a value without an equal."""
    try:
        return _converted(dtype, value)
    except _Unequal:
        return None


def widened(value: Any, dtype: DataType) -> Any:
    """A number in the type of an expression, which may be a float where it is an integer."""
    floats = isinstance(dtype, ScalarType) and dtype.scalar in FLOATS
    return float(value) if floats and isinstance(value, int) else value


def _converted(dtype: DataType, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(dtype, ListType):
        item = ScalarType(dtype.item)
        return tuple(_converted(item, each) for each in value)
    if not isinstance(dtype, ScalarType):
        raise _Unequal
    if dtype.scalar in INTEGER_RANGES:
        return _integer(value, dtype.scalar)
    if dtype.scalar in FLOATS:
        return canonical(_float(value), dtype)
    return _OTHERS[dtype.scalar](value)


def _integer(value: Any, scalar: Scalar) -> int:
    match value:
        case str() if _INTEGER.fullmatch(value):
            found = int(value)
        case float() if math.isfinite(value):
            found = math.trunc(value)
        case bool() | int():
            found = int(value)
        case _:
            raise _Unequal
    low, high = INTEGER_RANGES[scalar]
    if not low <= found <= high:
        raise _Unequal
    return found


def _float(value: Any) -> float:
    match value:
        case str() if _NUMBER.fullmatch(value):
            found = float(value)
            if math.isinf(found):
                raise _Unequal
            return found
        case bool() | int() | float():
            return float(value)
        case _:
            raise _Unequal


def _text(value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case dt.datetime():
            return spell_datetime(value)
        case dt.date():
            return value.isoformat()
        case float() if value != value:  # noqa: PLR0124 - only NaN differs from itself
            return "NaN"
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        case int() | float():
            return repr(value)
        case _:
            raise _Unequal


def _bool(value: Any) -> bool:
    match value:
        case str() if value.lower() in _TRUTHS:
            return _TRUTHS[value.lower()]
        case bool() | int():
            return bool(value)
        case _:
            raise _Unequal


def _date(value: Any) -> dt.date:
    match value:
        case dt.datetime():
            return value.date()
        case dt.date():
            return value
        case str():
            return _parsed(parse_date, value)
        case _:
            raise _Unequal


def _datetime(value: Any) -> dt.datetime:
    match value:
        case dt.datetime():
            return value
        case dt.date():
            return dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC)
        case str():
            return _parsed(parse_datetime, value)
        case _:
            raise _Unequal


def _parsed(parse: Callable[[str], _Date], text: str) -> _Date:
    try:
        return parse(text)
    except ValueProblem:
        raise _Unequal from None


_OTHERS: dict[Scalar, Callable[[Any], Any]] = {
    Scalar.STRING: _text,
    Scalar.BOOL: _bool,
    Scalar.DATE: _date,
    Scalar.DATETIME: _datetime,
}
