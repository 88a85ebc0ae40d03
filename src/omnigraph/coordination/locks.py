"""Gates: threads of one process that would race each other wait for each other instead.

Taken in one order (schema, then branch, then tables by name), so they cannot deadlock. Like the
lease they only save wasted work: who has waited long enough goes on without, so a thread that hangs
in storage stops nobody. Every open graph of a process shares the gates of its root.
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
    """The locks of one graph root, made when they are first asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._gates: dict[str, threading.Lock] = {}
        self.enabled = True

    @contextmanager
    def held(
        self, *, branch: str, tables: Iterable[str], wait_seconds: float, schema: bool = False
    ) -> Iterator[None]:
        """Hold what one advance-publish window needs, as far as it can be had in time."""
        if not self.enabled:
            yield
            return
        names = [*(["schema"] if schema else []), f"branch/{branch}"]
        names += sorted(f"table/{table}" for table in tables)
        deadline = SYSTEM_CLOCK.monotonic() + wait_seconds
        with ExitStack() as stack:
            for name in names:
                gate = self._gate(name)
                if not gate.acquire(timeout=max(0.0, deadline - SYSTEM_CLOCK.monotonic())):
                    break
                stack.callback(gate.release)
            yield

    def _gate(self, name: str) -> threading.Lock:
        with self._lock:
            return self._gates.setdefault(name, threading.Lock())


_by_root: dict[str, LockManager] = {}
_by_root_lock = threading.Lock()


def lock_manager_of(root_uri: str) -> LockManager:
    """The gates of a root, the same for every opener in this process."""
    with _by_root_lock:
        return _by_root.setdefault(root_uri, LockManager())
