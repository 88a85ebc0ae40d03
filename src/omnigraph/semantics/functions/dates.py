"""Parts, truncation, movement and differences of dates and instants, all in UTC."""

from __future__ import annotations

import calendar
import datetime as dt
from typing import TYPE_CHECKING, Any

from omnigraph.semantics.functions.limits import date_out_of_range

if TYPE_CHECKING:
    from omnigraph.datatypes.types import DataType

__all__ = [
    "CALENDAR_UNITS",
    "CLOCK_UNITS",
    "day",
    "day_of_year",
    "difference",
    "hour",
    "minute",
    "month",
    "second",
    "shift",
    "truncate",
    "weekday",
    "year",
]

CALENDAR_UNITS = ("year", "quarter", "month", "week", "day")
CLOCK_UNITS = ("hour", "minute", "second")
_MONTHS = {"year": 12, "quarter": 3, "month": 1}
_MICROS = {
    "week": 7 * 86_400_000_000,
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
}


def year(_dtype: DataType, value: dt.date) -> int:
    return value.year


def month(_dtype: DataType, value: dt.date) -> int:
    return value.month


def day(_dtype: DataType, value: dt.date) -> int:
    return value.day


def hour(_dtype: DataType, value: dt.datetime) -> int:
    return value.hour


def minute(_dtype: DataType, value: dt.datetime) -> int:
    return value.minute


def second(_dtype: DataType, value: dt.datetime) -> int:
    return value.second


def weekday(_dtype: DataType, value: dt.date) -> int:
    """1 is Monday, 7 is Sunday."""
    return value.isoweekday()


def day_of_year(_dtype: DataType, value: dt.date) -> int:
    return value.timetuple().tm_yday


def truncate(_dtype: DataType, unit: str, value: Any) -> Any:
    """The first day or instant of the unit that the value lies in."""
    if unit in CLOCK_UNITS:
        cleared = {"microsecond": 0}
        if unit != "second":
            cleared["second"] = 0
        if unit == "hour":
            cleared["minute"] = 0
        return value.replace(**cleared)
    if isinstance(value, dt.datetime):
        value = value.replace(hour=0, minute=0, second=0, microsecond=0)
    match unit:
        case "year":
            return value.replace(month=1, day=1)
        case "quarter":
            return value.replace(month=value.month - (value.month - 1) % 3, day=1)
        case "month":
            return value.replace(day=1)
        case "week":
            return _moved(value, dt.timedelta(days=1 - value.isoweekday()))
        case _:
            return value


def shift(_dtype: DataType, value: Any, months: int, days: int, micros: int) -> Any:
    """Months first, to the last day of a shorter one, then days and microseconds."""
    if months:
        years, place = divmod(value.year * 12 + value.month - 1 + months, 12)
        if not dt.MINYEAR <= years <= dt.MAXYEAR:
            raise date_out_of_range()
        last = calendar.monthrange(years, place + 1)[1]
        value = value.replace(year=years, month=place + 1, day=min(value.day, last))
    return _moved(value, dt.timedelta(days=days, microseconds=micros))


def _moved(value: Any, by: dt.timedelta) -> Any:
    try:
        return value + by
    except OverflowError:
        raise date_out_of_range() from None


def difference(_dtype: DataType, unit: str, start: Any, end: Any) -> int:
    """The number of whole units from one date to another; negative if it lies before."""
    if unit in _MONTHS:
        return _whole(_months_between(start, end), _MONTHS[unit])
    span = end - start
    micros = (span.days * 86_400 + span.seconds) * 1_000_000 + span.microseconds
    return _whole(micros, _MICROS[unit])


def _months_between(start: Any, end: Any) -> int:
    months: int = (end.year - start.year) * 12 + end.month - start.month
    # A month is whole once its day and time are reached.
    rest = _within_month(end) < _within_month(start), _within_month(end) > _within_month(start)
    if months > 0 and rest[0]:
        return months - 1
    return months + 1 if months < 0 and rest[1] else months


def _within_month(value: Any) -> tuple[Any, ...]:
    time = value.timetz() if isinstance(value, dt.datetime) else dt.time()
    return (value.day, time)


def _whole(count: int, size: int) -> int:
    return count // size if count >= 0 else -(-count // size)
