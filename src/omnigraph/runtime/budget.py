"""The budget of a query, and the meter that enforces it.

A budget never truncates a result: a query that would exceed it fails with ``LimitExceeded`` and
returns nothing. The row budget counts the rows of the *result*; intermediate data is bounded by the
memory budget, which is an estimate, and by time.
"""

from __future__ import annotations

import math
import os
from dataclasses import field
from functools import cache
from pathlib import Path

from omnigraph.errors import GraphError, InvalidInput, LimitExceeded
from omnigraph.frozen import frozen
from omnigraph.runtime.cancellation import Cancellation
from omnigraph.runtime.clock import SYSTEM_CLOCK, Clock

__all__ = [
    "DEFAULT_ROWS",
    "DEFAULT_SECONDS",
    "Budget",
    "Meter",
    "default_memory_bytes",
    "machine_memory_bytes",
]

DEFAULT_ROWS = 1_000_000
DEFAULT_SECONDS = 30.0
# A sixteenth of the machine, so that the concurrent reads of a server leave memory for the cache,
# for writes and for other processes. The share is larger on small machines and smaller on large
# ones.
_MEMORY_SHARE = 16
_MEMORY_LEAST = 256 * 2**20
_MEMORY_LEAST_SHARE = 4
_MEMORY_MOST = 4 * 2**30
_MEMORY_SETTING = "OMNIGRAPH_QUERY_MEMORY_BYTES"
# Reading the clock costs more than a step of most loops, so it is read once in this many steps.
_TICKS_PER_CHECK = 128
_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


# A token without a holder, hence never cancelled.
_NEVER = Cancellation()


@cache
def machine_memory_bytes() -> int:
    """Return the memory limit of this process: that of the machine, or of its container."""
    available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = _CGROUP_LIMIT.read_text(encoding="ascii").strip()
    except OSError:
        limit = "max"
    if limit.isdigit():
        available = min(available, int(limit))
    return available


def default_memory_bytes(machine: int | None = None) -> int:
    """Return the default memory budget of a query: the setting of the process, or a share of the
    memory.
    """
    given = os.environ.get(_MEMORY_SETTING, "")
    if given.isdecimal():
        return int(given)
    total = machine_memory_bytes() if machine is None else machine
    least = min(_MEMORY_LEAST, total // _MEMORY_LEAST_SHARE)
    return min(max(total // _MEMORY_SHARE, least), _MEMORY_MOST)


@frozen
class Budget:
    """The limits of one query; None lifts a limit."""

    rows: int | None = DEFAULT_ROWS
    seconds: float | None = DEFAULT_SECONDS
    memory_bytes: int | None = field(default_factory=default_memory_bytes)
    cancellation: Cancellation | None = None
    clock: Clock = SYSTEM_CLOCK

    def __post_init__(self) -> None:
        for name in ("rows", "seconds", "memory_bytes"):
            limit = getattr(self, name)
            if limit is None:
                continue
            if isinstance(limit, bool) or not isinstance(limit, int | float) or not limit >= 0:
                raise InvalidInput(
                    "query.budget",
                    f"invalid budget {name}={limit!r}",
                    remedy="use a non-negative number, or None for no limit",
                )

    def start(self, cancellation: Cancellation | None = None) -> Meter:
        """Start a meter; ``cancellation`` is the token of this call."""
        return Meter(self, cancellation)


class Meter:
    """Measures one query against its budget."""

    __slots__ = (
        "_budget",
        "_bytes",
        "_cancellation",
        "_deadline",
        "_monotonic",
        "_started",
        "_ticks",
        "_token",
    )

    def __init__(self, budget: Budget, cancellation: Cancellation | None = None) -> None:
        self._budget = budget
        self._cancellation = budget.cancellation or _NEVER
        self._token = cancellation or _NEVER
        self._monotonic = budget.clock.monotonic
        self._started = self._monotonic()
        seconds = budget.seconds
        self._deadline = math.inf if seconds is None else self._started + seconds
        self._ticks = 0
        self._bytes = 0

    def tick(self) -> None:
        """Check cancellation and deadline; called in every loop."""
        self._ticks += 1
        if self._ticks % _TICKS_PER_CHECK == 1:
            self.check()

    def check(self) -> None:
        """Check cancellation and deadline now."""
        if self._token.cancelled or self._cancellation.cancelled:
            raise GraphError(
                "query.cancelled",
                "the query was cancelled",
                remedy="run it again if necessary",
            )
        now = self._monotonic()
        if now > self._deadline:
            limit = self._budget.seconds or 0.0
            raise _exceeded("time_s", limit, round(now - self._started, 3))

    def hold(self, size: int) -> None:
        """Account for bytes that the query allocates until its end, or until it releases them."""
        self._bytes += size
        limit = self._budget.memory_bytes
        if limit is not None and self._bytes > limit:
            raise _exceeded("memory_bytes", limit, self._bytes)

    def release(self, size: int) -> None:
        """Release bytes that were accounted for."""
        self._bytes -= size

    def has_room(self, size: int) -> bool:
        """Whether the budget permits so many more bytes."""
        limit = self._budget.memory_bytes
        return limit is None or self._bytes + size <= limit

    def return_rows(self, count: int) -> None:
        """Check the size of the result."""
        limit = self._budget.rows
        if limit is not None and count > limit:
            raise _exceeded("rows", limit, count)


_REMEDIES = {
    "time_s": "narrow the match, bound its hops, or raise the time budget of this call",
    "memory_bytes": "narrow the match, return fewer properties, or raise the memory budget",
    "rows": "add a limit, aggregate, or raise the row budget of this call",
}


def _exceeded(name: str, limit: float, actual: float) -> LimitExceeded:
    return LimitExceeded(
        f"query.{name.split('_', maxsplit=1)[0]}_limit",
        f"the query exceeds its budget: {name} {actual}, limit {limit}",
        details={"resource_limit": {"name": name, "limit": limit, "actual": actual}},
        remedy=_REMEDIES[name],
    )
