"""Return of freed memory to the operating system.

Allocators keep what a large load or query frees, for each thread and without an end. A second after
a call, and every ten while calls run, the server compares its size with its size when it was idle.
"""

from __future__ import annotations

import asyncio
import ctypes
import math
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MemoryReturn", "resident_bytes", "return_memory"]

# Looking is cheap; returning costs some milliseconds per gibibyte.
_LOOK_SECONDS = 1.0
_BUSY_SECONDS = 10.0
_GROWTH_BYTES = 64 * 2**20
_STATM = Path("/proc/self/statm")


def resident_bytes() -> int:
    """The resident set of this process; 0 where the system does not publish it."""
    try:
        return int(_STATM.read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def return_memory() -> None:
    """Return the free pages of every allocator that can."""
    pool = pa.default_memory_pool()
    # mimalloc ignores threads that have never allocated.
    pa.allocate_buffer(64, memory_pool=pool)
    pool.release_unused()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


class MemoryReturn:
    """Returns memory after calls. Used by the event loop alone."""

    def __init__(self, is_busy: Callable[[], bool]) -> None:
        self._is_busy = is_busy
        self._timer: asyncio.TimerHandle | None = None
        self._returning: threading.Thread | None = None
        self._returned = -math.inf
        self._returned_idle = False
        # The size with which the server was idle last, which is what it needs.
        self._idle = resident_bytes()

    def call_started(self) -> None:
        """Look at the memory when the call may have ended."""
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_LOOK_SECONDS, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        busy = self._is_busy()
        due = loop.time() > self._returned + _BUSY_SECONDS or not (busy or self._returned_idle)
        if self._returning is not None and self._returning.is_alive():
            due = False
        elif not busy and (self._returned_idle or not self._has_grown()):
            # What is left now is needed.
            self._idle, self._returned_idle = resident_bytes(), False
            return
        if due and self._has_grown():
            # Not on the event loop, which would wait for as long as pages are returned.
            self._returning = threading.Thread(target=return_memory, daemon=True)
            self._returning.start()
            self._returned, self._returned_idle = loop.time(), not busy
        self.call_started()

    def _has_grown(self) -> bool:
        return resident_bytes() > self._idle + _GROWTH_BYTES
