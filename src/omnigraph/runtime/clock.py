"""The only module that reads the time."""

from __future__ import annotations

import datetime as dt
import time
from functools import partial
from typing import Protocol

__all__ = [
    "SYSTEM_CLOCK",
    "Clock",
    "SystemClock",
    "datetime_to_micros",
    "format_micros",
    "micros_to_datetime",
]


class Clock(Protocol):
    """Wall time for records, monotonic time for durations."""

    def now_micros(self) -> int:
        """Return microseconds since the epoch, UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds of a monotonic clock; values of two machines are not comparable."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The clocks of the machine."""

    def now_micros(self) -> int:
        return time.time_ns() // 1_000

    # On Linux the plain monotonic clock stops during suspend; leases must not. Every step of a
    # query reads it, so it has no wrapper.
    monotonic = staticmethod(
        partial(time.clock_gettime, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
    )

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


SYSTEM_CLOCK = SystemClock()

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def micros_to_datetime(micros: int) -> dt.datetime:
    """Convert exactly, without a float."""
    return _EPOCH + dt.timedelta(microseconds=micros)


def format_micros(micros: int) -> str:
    """Format a time of a commit as ISO 8601 in UTC."""
    return micros_to_datetime(micros).isoformat(timespec="microseconds").replace("+00:00", "Z")


def datetime_to_micros(moment: dt.datetime) -> int:
    """Convert exactly; the inverse of ``micros_to_datetime``."""
    return (moment - _EPOCH) // dt.timedelta(microseconds=1)
