"""The only place that asks what time it is."""

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
    """Wall time for records, monotonic time for judging how long something lasted."""

    def now_micros(self) -> int:
        """Microseconds since the epoch, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back; two machines' values cannot be compared."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now_micros(self) -> int:
        return time.time_ns() // 1_000

    # On Linux the plain monotonic clock stands still while the machine sleeps; leases must not.
    # Every step of a query asks it, so there is nothing around the call.
    monotonic = staticmethod(
        partial(time.clock_gettime, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
    )

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


SYSTEM_CLOCK = SystemClock()

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def micros_to_datetime(micros: int) -> dt.datetime:
    """Exact: never through a float."""
    return _EPOCH + dt.timedelta(microseconds=micros)


def format_micros(micros: int) -> str:
    """ISO 8601 in UTC, as commits show their time."""
    return micros_to_datetime(micros).isoformat(timespec="microseconds").replace("+00:00", "Z")


def datetime_to_micros(moment: dt.datetime) -> int:
    """The inverse of ``micros_to_datetime``, exact as well."""
    return (moment - _EPOCH) // dt.timedelta(microseconds=1)
