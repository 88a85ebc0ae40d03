"""Mutual exclusion of threads in one process that would otherwise race each other.

Locks are taken in one order (schema, branch, tables by name), so they cannot deadlock. Like the
lease they only save wasted work: a thread that has waited long enough continues without them, so a
thread that hangs in storage blocks no other. All open graphs of a process share the locks of their
root.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from omnigraph.runtime.clock import SYSTEM_CLOCK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["LockManager", "lock_manager_of"]


class LockManager:
    """The locks of one graph root, created on first use."""

    def __init__(self) -> None:
        self._latch = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self.enabled = True

    @contextmanager
    def held(
        self, *, branch: str, tables: Iterable[str], wait_seconds: float, schema: bool = False
    ) -> Iterator[None]:
        """Hold the locks of one commit, as far as they are free in time."""
        if not self.enabled:
            yield
            return
        names = [*(["schema"] if schema else []), f"branch/{branch}"]
        names += sorted(f"table/{table}" for table in tables)
        deadline = SYSTEM_CLOCK.monotonic() + wait_seconds
        with ExitStack() as stack:
            for name in names:
                lock = self._lock(name)
                if not lock.acquire(timeout=max(0.0, deadline - SYSTEM_CLOCK.monotonic())):
                    break
                stack.callback(lock.release)
            yield

    def _lock(self, name: str) -> threading.Lock:
        with self._latch:
            return self._locks.setdefault(name, threading.Lock())


_by_root: dict[str, LockManager] = {}
_by_root_latch = threading.Lock()


def lock_manager_of(root_uri: str) -> LockManager:
    """Return the locks of a root, the same for all openers in this process."""
    with _by_root_latch:
        return _by_root.setdefault(root_uri, LockManager())
