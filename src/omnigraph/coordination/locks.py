"""Mutual exclusion of the threads of one process that write to one branch.

Like the lease, a lock only saves wasted work: a thread that has waited long enough continues
without it, so a thread that hangs in storage blocks no other. All open graphs of a process share
the locks of their root.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LockManager", "lock_manager_of"]


class LockManager:
    """The locks of one graph root, one per branch, created on first use."""

    def __init__(self) -> None:
        self._latch = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self.enabled = True

    @contextmanager
    def held(self, branch: str, *, wait_seconds: float) -> Iterator[bool]:
        """Hold the lock of a branch if it is free in time; yields whether it is held."""
        if not self.enabled:
            yield False
            return
        with self._latch:
            lock = self._locks.setdefault(branch, threading.Lock())
        held = lock.acquire(timeout=wait_seconds)
        try:
            yield held
        finally:
            if held:
                lock.release()


_by_root: dict[str, LockManager] = {}
_by_root_latch = threading.Lock()


def lock_manager_of(root_uri: str) -> LockManager:
    """Return the locks of a root, the same for all openers in this process."""
    with _by_root_latch:
        return _by_root.setdefault(root_uri, LockManager())
