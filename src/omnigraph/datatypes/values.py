"""Convert JSON to typed Python values, and format keys canonically.

Parameters, defaults and loaded values pass through ``coerce_json``. It returns the value that a
table returns, so that a value is equal before and after storage:

==================  ==============================================================================
type                Python value
==================  ==============================================================================
String, enum        ``str`` without lone surrogates
Bool                ``bool``
I32 I64 U32 U64     ``int`` in the range of the type
F32, F64            finite ``float``; F32 rounded to 32 bits
Date                ``datetime.date``
DateTime            aware ``datetime.datetime`` in UTC, truncated to microseconds
Blob                ``bytes``
Vector              ``list[float]``, rounded as F32
[scalar]            ``list`` of the above, without nulls
==================  ==============================================================================

An invalid value raises ``ValueProblem``; the caller adds position and name.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import json
import math
import re
import struct
from typing import TYPE_CHECKING, Any, TypeAlias

from omnigraph.datatypes.types import (
    INTEGER_RANGES,
    EnumType,
    ListType,
    Scalar,
    ScalarType,
    VectorType,
    spell_type,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from omnigraph.datatypes.types import DataType

__all__ = [
    "BLOB_PREFIX",
    "ScalarValue",
    "Value",
    "ValueProblem",
    "canonical_key",
    "coerce_json",
    "parse_date",
    "parse_datetime",
    "spell_datetime",
]

ScalarValue: TypeAlias = str | bool | int | float | dt.date | dt.datetime | bytes
Value: TypeAlias = ScalarValue | list[ScalarValue] | list[float] | None

BLOB_PREFIX = "base64:"
_SHOWN_MAX = 60
# Above this, floats do not represent every integer exactly.
_EXACT_FLOAT_MAX = 2**53
_INTEGER_TEXT = re.compile(r"-?[0-9]{1,20}", re.ASCII)
_DATE_TEXT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATETIME_TEXT = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]"
    r"(?P<time>[0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?P<fraction>(?<=:[0-9]{2}:[0-9]{2})\.[0-9]+)?"
    r"(?P<zone>[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])?"
)


class ValueProblem(ValueError):
    """A value that does not fit its type.

    ``code`` is one of ``value.null``, ``value.type``, ``value.range``, ``value.format``,
    ``value.member``, ``value.length``, ``value.unicode`` and ``value.key``.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def coerce_json(value: Any, dtype: DataType, *, nullable: bool = False) -> Value:
    """Convert a JSON value, or a Python value, to a value of the type."""
    if value is None:
        if nullable:
            return None
        raise ValueProblem("value.null", f"null is not a value of {spell_type(dtype)}")
    match dtype:
        case ScalarType(scalar):
            return _SCALARS[scalar](value)
        case EnumType():
            return _member(value, dtype)
        case ListType(item):
            return _list(value, item)
        case VectorType(dim):
            return _vector(value, dim)


def canonical_key(values: Sequence[Value]) -> str:
    """Return the id of an entity with these key values.

    One value is formatted alone, several as a compact JSON array of strings. Integers are decimal,
    booleans ``true`` and ``false``, dates ISO, datetimes ISO in UTC with ``Z`` and a minimal
    fraction, strings unchanged. Floats have their shortest form, without ``.0``; both zeros are
    ``0``.
    """
    if not values:
        raise ValueProblem("value.key", "a key has at least one value")
    spelled = [_spell(value) for value in values]
    if len(spelled) == 1:
        return spelled[0]
    return json.dumps(spelled, ensure_ascii=False, separators=(",", ":"))


def parse_date(text: str) -> dt.date:
    """Parse a date ``YYYY-MM-DD``."""
    if _DATE_TEXT.fullmatch(text):
        try:
            return dt.date.fromisoformat(text)
        except ValueError as error:
            raise ValueProblem(
                "value.format", f"{_show(text)} is not a valid date: {error}"
            ) from None
    raise ValueProblem("value.format", f"{_show(text)} is not a date like 2026-11-01")


def parse_datetime(text: str) -> dt.datetime:
    """Parse an RFC 3339 datetime; without an offset it is UTC."""
    found = _DATETIME_TEXT.fullmatch(text)
    if not found:
        raise ValueProblem(
            "value.format", f"{_show(text)} is not a datetime like 2026-11-01T12:00:00Z"
        )
    zone = (found["zone"] or "Z").upper().replace("Z", "+00:00")
    fraction = (found["fraction"] or "")[:7]
    try:
        parsed = dt.datetime.fromisoformat(f"{found['date']}T{found['time']}")
        micros = int(fraction[1:].ljust(6, "0")) if fraction else 0
        offset = dt.datetime.fromisoformat(f"2000-01-01T00:00{zone}").tzinfo
        return parsed.replace(microsecond=micros, tzinfo=offset).astimezone(dt.UTC)
    except (ValueError, OverflowError) as error:
        raise ValueProblem("value.format", f"{_show(text)} is not a datetime: {error}") from None


def spell_datetime(value: dt.datetime) -> str:
    """Format a datetime as ISO in UTC with ``Z`` and a minimal fraction; naive ones are UTC."""
    text = _utc(value).replace(tzinfo=None).isoformat()
    return f"{text.rstrip('0') if '.' in text else text}Z"


# --- scalars -----------------------------------------------------------------------------------


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong_type(value, "a string")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            found = f"U+{ord(value[error.start]):04X} at {error.start}"
            raise ValueProblem(
                "value.unicode", f"the string contains a lone surrogate, {found}"
            ) from None
    return value


def _bool(value: Any) -> bool:
    found = value if isinstance(value, bool) else _to_python(value)
    if not isinstance(found, bool):
        raise _wrong_type(value, "true or false")
    return found


def _integer(scalar: Scalar) -> Callable[[Any], int]:
    low, high = INTEGER_RANGES[scalar]
    from_text = scalar in (Scalar.I64, Scalar.U64)

    def coerce(value: Any) -> int:
        number = _whole(value, from_text=from_text)
        if not low <= number <= high:
            shown = _show(value)
            raise ValueProblem("value.range", f"{shown} is outside {scalar.value}: {low} to {high}")
        return number

    return coerce


def _whole(value: Any, *, from_text: bool) -> int:
    """Convert to an integer; 64-bit integers may be strings, because JSON numbers are doubles."""
    match value:
        case bool():
            raise _wrong_type(value, "an integer")
        case int():
            return value
        case float() if value.is_integer() and abs(value) <= _EXACT_FLOAT_MAX:
            return int(value)
        case str() if from_text and _INTEGER_TEXT.fullmatch(value):
            return int(value)
        case _ if (own := _to_python(value)) is not value:
            return _whole(own, from_text=from_text)
        case _:
            raise _wrong_type(value, "an integer")


def _f64(value: Any) -> float:
    found = value if isinstance(value, int | float) else _to_python(value)
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise _wrong_type(value, "a number")
    try:
        number = float(found)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueProblem("value.range", f"{_show(value)} is not a finite number")
    return number


def _to_python(value: Any) -> Any:
    """Convert a scalar of numpy, or a similar library, to a Python value."""
    return value.item() if hasattr(value, "item") and getattr(value, "shape", None) == () else value


def _f32(value: Any) -> float:
    return _round_to_f32([_f64(value)])[0]


def _date(value: Any) -> dt.date:
    match value:
        case dt.datetime():
            raise _wrong_type(value, "a date without a time")
        case dt.date():
            return value
        case str():
            return parse_date(value)
        case _:
            raise _wrong_type(value, "a date like 2026-11-01")


def _datetime(value: Any) -> dt.datetime:
    match value:
        # NaT of pandas is a datetime that does not equal itself.
        case dt.datetime() if value == value:  # noqa: PLR0124
            try:
                return _utc(value)
            except OverflowError:
                raise ValueProblem(
                    "value.range", f"{_show(value)} is out of range in UTC"
                ) from None
        case str():
            return parse_datetime(value)
        case _:
            raise _wrong_type(value, "a datetime like 2026-11-01T12:00:00Z")


def _blob(value: Any) -> bytes:
    match value:
        case bytes() | bytearray() | memoryview():
            return bytes(value)
        case str() if value.startswith(BLOB_PREFIX):
            try:
                return base64.b64decode(value[len(BLOB_PREFIX) :], validate=True)
            except (binascii.Error, ValueError) as error:
                raise ValueProblem("value.format", f"not base64: {error}") from None
        case _:
            raise _wrong_type(value, f"a blob like {BLOB_PREFIX}aGVsbG8=")


_SCALARS: dict[Scalar, Callable[[Any], ScalarValue]] = {
    Scalar.STRING: _string,
    Scalar.BOOL: _bool,
    Scalar.I32: _integer(Scalar.I32),
    Scalar.I64: _integer(Scalar.I64),
    Scalar.U32: _integer(Scalar.U32),
    Scalar.U64: _integer(Scalar.U64),
    Scalar.F32: _f32,
    Scalar.F64: _f64,
    Scalar.DATE: _date,
    Scalar.DATETIME: _datetime,
    Scalar.BLOB: _blob,
}


# --- enums, lists, vectors ---------------------------------------------------------------------


def _member(value: Any, dtype: EnumType) -> str:
    if not isinstance(value, str):
        raise _wrong_type(value, f"one of {', '.join(dtype.values)}")
    if value not in dtype.values:
        raise ValueProblem(
            "value.member", f"{_show(value)} is not one of {', '.join(dtype.values)}"
        )
    return value


def _list(value: Any, item: Scalar) -> list[ScalarValue]:
    value = _to_list(value)
    if not isinstance(value, list | tuple):
        raise _wrong_type(value, f"a list of {item.value}")
    coerce = _SCALARS[item]
    items: list[ScalarValue] = []
    for position, element in enumerate(value):
        if element is None:
            raise ValueProblem("value.null", f"item {position} is null")
        try:
            items.append(coerce(element))
        except ValueProblem as problem:
            raise ValueProblem(problem.code, f"item {position}: {problem.message}") from None
    return items


def _vector(value: Any, dim: int) -> list[float]:
    value = _to_list(value)
    if not isinstance(value, list | tuple):
        raise _wrong_type(value, f"a list of {dim} numbers")
    if len(value) != dim:
        raise ValueProblem("value.length", f"the vector has {len(value)} elements, not {dim}")
    if set(map(type, value)) == {float} and all(map(math.isfinite, value)):
        return _round_to_f32(value)
    numbers: list[float] = []
    for position, element in enumerate(value):
        try:
            numbers.append(_f64(element))
        except ValueProblem as problem:
            raise ValueProblem(problem.code, f"element {position}: {problem.message}") from None
    return _round_to_f32(numbers)


def _to_list(value: Any) -> Any:
    """Convert an array of numpy, or a similar library, to a list."""
    return value.tolist() if hasattr(value, "tolist") else value


def _round_to_f32(numbers: Sequence[float]) -> list[float]:
    shape = f"<{len(numbers)}f"
    try:
        return list(struct.unpack(shape, struct.pack(shape, *numbers)))
    except OverflowError:
        raise ValueProblem("value.range", "a number is outside F32: -3.4e38 to 3.4e38") from None


# --- spelling ----------------------------------------------------------------------------------


def _spell(value: Value) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int():
            return str(value)
        case float():
            return _spell_float(value)
        case dt.datetime():
            return spell_datetime(value)
        case dt.date():
            return value.isoformat()
        case _:
            raise ValueProblem("value.key", f"{_show(value)} cannot be part of a key")


def _spell_float(value: float) -> str:
    if not math.isfinite(value):
        raise ValueProblem("value.key", f"{value} cannot be part of a key")
    return repr(value).removesuffix(".0") if value else "0"


def _utc(value: dt.datetime) -> dt.datetime:
    return value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)


def _wrong_type(value: Any, expected: str) -> ValueProblem:
    return ValueProblem("value.type", f"{_show(value)} is not {expected}")


def _show(value: Any) -> str:
    """Format a value for a message: short, printable and cheap for large values."""
    match value:
        case str():
            text = json.dumps(value[:_SHOWN_MAX], ensure_ascii=False)
            shown = text.encode(errors="backslashreplace").decode()
            return shown if len(value) <= _SHOWN_MAX else f"{shown}…"
        case None | bool() | float():
            return json.dumps(value)
        case int():
            return str(value) if value.bit_length() <= _SHOWN_MAX * 3 else "a very large number"
        case dt.date():
            return value.isoformat()
        case list() | tuple():
            return "a list"
        case dict():
            return "an object"
        case _:
            return f"a {type(value).__name__}"
