"""Functions of values, each in the shortest obvious form."""

from __future__ import annotations

import calendar
import datetime as dt
import hashlib
import math
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from omnigraph.datatypes.types import FLOATS, INTEGER_RANGES, ListType, Scalar, ScalarType
from omnigraph.ir.functions import Function
from omnigraph.testing.reference.graph import Refused
from omnigraph.testing.reference.values import order, typed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from omnigraph.datatypes.types import DataType

__all__ = ["call", "matches_whole", "widen"]

_FUNCTIONS: dict[Function, Callable[..., Any]] = {}
_ASK_ABOUT_NULL = (Function.LEAST, Function.GREATEST, Function.NULLIF, Function.SLICE)
_DAY = dt.timedelta(days=1)


def call(func: Function, dtype: DataType, args: Sequence[Any]) -> Any:
    """The value of a function."""
    if func not in _ASK_ABOUT_NULL and None in args:
        return None
    return _FUNCTIONS[func](dtype, *args)


def _defines(
    func: Function,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(define: Callable[..., Any]) -> Callable[..., Any]:
        _FUNCTIONS[func] = define
        return define

    return register


def widen(value: Any, dtype: DataType) -> Any:
    """An integer as a float, where floats are expected."""
    return float(value) if _is(dtype, FLOATS) and type(value) is int else value


def _is(dtype: DataType, scalars: Any) -> bool:
    return isinstance(dtype, ScalarType) and dtype.scalar in scalars


# --- numbers -----------------------------------------------------------------------------------


def _fits(dtype: DataType, exact: Any) -> Any:
    """An exact integer, which its type must hold."""
    low, high = INTEGER_RANGES[getattr(dtype, "scalar", Scalar.I64)]
    if not low <= exact <= high:
        raise Refused("query.integer_overflow")
    return int(exact)


def _operator(func: Function, exact: Callable[[Any, Any], Any]) -> None:
    def define(dtype: DataType, left: Any, right: Any) -> Any:
        if _is(dtype, INTEGER_RANGES):
            return _fits(dtype, exact(left, right))
        return exact(float(left), float(right))

    _FUNCTIONS[func] = define


_operator(Function.ADD, lambda left, right: left + right)
_operator(Function.SUBTRACT, lambda left, right: left - right)
_operator(Function.MULTIPLY, lambda left, right: left * right)


@_defines(Function.DIVIDE)
def _divide(_: DataType, left: Any, right: Any) -> Any:
    return None if right == 0 else float(left) / float(right)


@_defines(Function.DIV)
def _div(dtype: DataType, left: Any, right: Any) -> Any:
    return None if right == 0 else _fits(dtype, math.trunc(Fraction(left, right)))


@_defines(Function.MODULO)
def _modulo(dtype: DataType, left: Any, right: Any) -> Any:
    if right == 0:
        return None
    if _is(dtype, INTEGER_RANGES):
        return _fits(dtype, left - right * math.trunc(Fraction(left, right)))
    left, right = float(left), float(right)
    if not math.isfinite(left) or math.isnan(right):
        return float("nan")
    if math.isinf(right):
        return left
    exact = Fraction(left) - Fraction(right) * math.trunc(Fraction(left) / Fraction(right))
    return math.copysign(float(exact), left)


@_defines(Function.NEGATE)
def _negate(dtype: DataType, value: Any) -> Any:
    return _fits(dtype, -value) if _is(dtype, INTEGER_RANGES) else -float(value)


@_defines(Function.ABS)
def _abs(dtype: DataType, value: Any) -> Any:
    return _fits(dtype, abs(value)) if _is(dtype, INTEGER_RANGES) else abs(value)


@_defines(Function.SIGN)
def _sign(_: DataType, value: Any) -> Any:
    return 1 if value > 0 else -1 if value < 0 else 0


@_defines(Function.ROUND)
def _round(dtype: DataType, value: Any, digits: int = 0) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return value
    scale = Fraction(10) ** max(-400, min(400, digits))
    if _is(dtype, INTEGER_RANGES) and scale >= 1:
        return value
    scaled = abs(Fraction(value)) * scale
    whole = math.floor(scaled + Fraction(1, 2))
    exact = (1 if value >= 0 else -1) * whole / scale
    return _fits(dtype, exact) if _is(dtype, INTEGER_RANGES) else float(exact)


@_defines(Function.FLOOR)
def _floor(_: DataType, value: Any) -> Any:
    finite = isinstance(value, float) and math.isfinite(value)
    return float(math.floor(Fraction(value))) if finite else value


@_defines(Function.CEIL)
def _ceil(_: DataType, value: Any) -> Any:
    finite = isinstance(value, float) and math.isfinite(value)
    return float(-math.floor(-Fraction(value))) if finite else value


@_defines(Function.SQRT)
def _sqrt(_: DataType, value: Any) -> Any:
    return None if value < 0 else float(value) ** 0.5 if value == 0 else math.sqrt(value)


@_defines(Function.POWER)
def _power(_: DataType, base: Any, exponent: Any) -> Any:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and float(exponent) % 2 == 1 else math.inf
    except ValueError:
        return None


@_defines(Function.LN)
def _ln(_: DataType, value: Any) -> Any:
    return None if value <= 0 else math.log(value)


@_defines(Function.LOG10)
def _log10(_: DataType, value: Any) -> Any:
    return None if value <= 0 else math.log10(value)


@_defines(Function.EXP)
def _exp(_: DataType, value: Any) -> Any:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


@_defines(Function.LEAST)
def _least(dtype: DataType, *values: Any) -> Any:
    return widen(_extreme(values, -1), dtype)


@_defines(Function.GREATEST)
def _greatest(dtype: DataType, *values: Any) -> Any:
    return widen(_extreme(values, 1), dtype)


def _extreme(values: Sequence[Any], sign: int) -> Any:
    chosen = None
    for value in values:
        if value is not None and (chosen is None or order(value, chosen) == sign):
            chosen = value
    return chosen


@_defines(Function.NULLIF)
def _nullif(_: DataType, value: Any, other: Any) -> Any:
    same = value is not None and other is not None and order(value, other) == 0
    return None if same else value


# --- texts -------------------------------------------------------------------------------------


def _simple(func: Function, define: Callable[..., Any]) -> None:
    _FUNCTIONS[func] = lambda _dtype, *args: define(*args)


def _reversed(items: Any) -> Any:
    return "".join(reversed(items)) if isinstance(items, str) else list(reversed(items))


_simple(Function.LOWER, str.lower)
_simple(Function.UPPER, str.upper)
_simple(Function.TRIM, str.strip)
_simple(Function.TRIM_START, str.lstrip)
_simple(Function.TRIM_END, str.rstrip)
_simple(Function.LENGTH, lambda text: sum(1 for _ in text))
_simple(Function.REVERSE, _reversed)
_simple(Function.LEFT, lambda text, count: "".join(c for at, c in enumerate(text) if at < count))
_simple(
    Function.RIGHT,
    lambda text, count: "".join(c for at, c in enumerate(text) if at >= len(text) - count),
)
_simple(Function.SPLIT, lambda text, by: text.split(by) if by else list(text))
_simple(Function.JOIN, lambda items, by: by.join(each for each in items if each is not None))
_simple(Function.CONCATENATE, lambda left, right: left + right)
_simple(
    Function.HASH,
    lambda text: int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], signed=True),
)


@_defines(Function.SUBSTRING)
def _substring(_: DataType, text: str, start: int, count: int | None = None) -> str:
    begin = max(start + len(text), 0) if start < 0 else start
    end = math.inf if count is None else begin + count
    return "".join(char for at, char in enumerate(text) if begin <= at < end)


@_defines(Function.REPLACE)
def _replace(_: DataType, text: str, old: str, new: str) -> str:
    return new.join(text.split(old)) if old else text


@_defines(Function.REGEX_REPLACE)
def _regex_replace(_: DataType, text: str, pattern: str, new: str) -> str:
    return re.sub(pattern, new, text)


def matches_whole(text: str, pattern: str) -> bool:
    """Whether a pattern, in the syntax that Python and RE2 share, matches the whole text."""
    return re.fullmatch(pattern, text) is not None


# --- dates -------------------------------------------------------------------------------------

_simple(Function.YEAR, lambda day: day.year)
_simple(Function.MONTH, lambda day: day.month)
_simple(Function.DAY, lambda day: day.day)
_simple(Function.HOUR, lambda moment: moment.astimezone(dt.UTC).hour)
_simple(Function.MINUTE, lambda moment: moment.minute)
_simple(Function.SECOND, lambda moment: moment.second)
_simple(Function.WEEKDAY, lambda day: day.weekday() + 1)
_simple(
    Function.DAY_OF_YEAR,
    lambda day: (
        dt.date(day.year, day.month, day.day).toordinal() - dt.date(day.year, 1, 1).toordinal() + 1
    ),
)
_FIELDS = ("year", "month", "day", "hour", "minute", "second", "microsecond")


@_defines(Function.TRUNCATE)
def _truncate(_: DataType, unit: str, value: Any) -> Any:
    parts = {name: getattr(value, name) for name in _FIELDS if hasattr(value, name)}
    kept = {"quarter": "month", "week": "day"}.get(unit, unit)
    for name in _FIELDS[_FIELDS.index(kept) + 1 :]:
        if name in parts:
            parts[name] = 1 if name in ("month", "day") else 0
    if unit == "quarter":
        parts["month"] = (1, 1, 1, 4, 4, 4, 7, 7, 7, 10, 10, 10)[parts["month"] - 1]
    cut = value.replace(**parts)
    while unit == "week" and cut.weekday() != 0:
        try:
            cut -= _DAY
        except OverflowError:
            raise Refused("query.date_out_of_range") from None
    return cut


@_defines(Function.SHIFT)
def _shift(_: DataType, value: Any, months: int, days: int, micros: int) -> Any:
    year, month = value.year, value.month + months
    while month > 12:
        year, month = year + 1, month - 12
    while month < 1:
        year, month = year - 1, month + 12
    if not 1 <= year <= 9999:
        raise Refused("query.date_out_of_range")
    last = calendar.monthrange(year, month)[1]
    moved = value.replace(year=year, month=month, day=min(value.day, last))
    try:
        return moved + (days * _DAY + micros * dt.timedelta(microseconds=1))
    except OverflowError:
        raise Refused("query.date_out_of_range") from None


@_defines(Function.DIFFERENCE)
def _difference(_: DataType, unit: str, start: Any, end: Any) -> int:
    if order(start, end) > 0:
        return -int(_difference(_, unit, end, start))
    lengths = {"week": 7 * _DAY, "day": _DAY, "hour": _DAY / 24, "minute": _DAY / 1440}
    months = {"year": 12, "quarter": 3, "month": 1}
    if unit not in months:
        length = lengths.get(unit, dt.timedelta(seconds=1))
        return int((end - start) // length)
    passed: int = (end.year - start.year) * 12 + end.month - start.month
    in_month = [value.replace(year=2000, month=1) for value in (start, end)]
    if in_month[1] < in_month[0]:
        passed -= 1
    return passed // months[unit]


# --- lists -------------------------------------------------------------------------------------

_simple(Function.SIZE, len)
_simple(Function.SLICE, lambda items, low, high: None if items is None else items[low:high])


@_defines(Function.INDEX)
def _index(_: DataType, items: list[Any], place: int) -> Any:
    try:
        return items[place]
    except IndexError:
        return None


@_defines(Function.LIST_DISTINCT)
def _list_distinct(_: DataType, items: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for item in items:
        if all(order(item, other) for other in kept):
            kept.append(item)
    return kept


@_defines(Function.LIST_SORT)
def _list_sort(_: DataType, items: list[Any]) -> list[Any]:
    ordered: list[Any] = []
    for item in items:
        place = sum(1 for other in ordered if order(other, item) <= 0)
        ordered.insert(place, item)
    return ordered


@_defines(Function.RANGE)
def _range(_: DataType, low: int, high: int, step: int = 1) -> list[int] | None:
    if step == 0:
        return None
    found, at = [], low
    while (at <= high) if step > 0 else (at >= high):
        found.append(at)
        at += step
    return found


# --- casts -------------------------------------------------------------------------------------


@_defines(Function.TRY_CAST)
def _try_cast(dtype: DataType, value: Any) -> Any:
    try:
        return _cast(dtype, value)
    except Refused:
        return None


@_defines(Function.CAST)
def _cast(dtype: DataType, value: Any) -> Any:
    if isinstance(dtype, ListType):
        item = ScalarType(dtype.item)
        return [None if each is None else _cast(item, each) for each in value]
    scalar = getattr(dtype, "scalar", None)
    if scalar in INTEGER_RANGES:
        return _to_integer(dtype, value)
    if scalar in FLOATS:
        return typed(_to_float(value), dtype)
    try:
        return _TO[scalar](value)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Refused("query.bad_cast") from None


def _to_integer(dtype: DataType, value: Any) -> int:
    if isinstance(value, str) and not re.fullmatch("[+-]?[0-9]+", value):
        raise Refused("query.bad_cast")
    try:
        return int(_fits(dtype, int(value)))
    except (Refused, ValueError, OverflowError, TypeError):
        raise Refused("query.bad_cast") from None


def _to_float(value: Any) -> float:
    number = r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?"
    if isinstance(value, dt.date) or (isinstance(value, str) and not re.fullmatch(number, value)):
        raise Refused("query.bad_cast")
    found = float(value)
    if isinstance(value, str) and math.isinf(found):
        raise Refused("query.bad_cast")
    return found


def _to_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dt.datetime):
        text = value.astimezone(dt.UTC).replace(tzinfo=None).isoformat()
        return (text.rstrip("0") if "." in text else text) + "Z"
    if isinstance(value, dt.date):
        return value.isoformat()
    names = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    return names.get(str(value), str(value)) if isinstance(value, float) else str(value)


def _to_date(value: Any) -> dt.date:
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).date()
    if isinstance(value, str) and not re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        raise Refused("query.bad_cast")
    return dt.date.fromisoformat(value) if isinstance(value, str) else value


def _to_moment(value: Any) -> dt.datetime:
    if isinstance(value, str):
        # The tests cast no other texts than words to instants.
        raise Refused("query.bad_cast")
    if isinstance(value, dt.datetime):
        return value
    return dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC)


def _to_bool(value: Any) -> bool:
    if isinstance(value, str):
        return {"true": True, "false": False}[value.lower()]
    return {0: False}.get(value, True)


_TO: dict[Any, Callable[[Any], Any]] = {
    Scalar.STRING: _to_text,
    Scalar.BOOL: _to_bool,
    Scalar.DATE: _to_date,
    Scalar.DATETIME: _to_moment,
}
