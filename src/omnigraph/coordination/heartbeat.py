"""Heartbeats: one thread per process renews those of its operations in progress.

A short operation ends before its first heartbeat. Heartbeats of a long one keep recovery from
voiding it.
"""

from __future__ import annotations

import logging
import os
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from omnigraph.errors import GraphError
from omnigraph.runtime.clock import SYSTEM_CLOCK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.runtime.ids import CommitId

__all__ = ["HEARTBEATS", "HeartbeatStore", "HeartbeatThread"]

_log = logging.getLogger("omnigraph.recovery")

# The pause without operations; a new operation with a shorter period ends it.
_IDLE_SECONDS = 15.0


class HeartbeatStore(Protocol):
    """Keeps the last heartbeat of each operation where other processes read it."""

    def beat(self, operation: CommitId) -> None:
        """Record a heartbeat."""

    def remove(self, operation: CommitId, endings: tuple[str, ...] = ...) -> None:
        """Remove the files of an operation that have one of the endings."""


@dataclass(slots=True)
class _Operation:
    store: HeartbeatStore
    period: float
    due: float
    has_beaten: bool = False


class HeartbeatThread:
    """Renews the heartbeat of every registered operation, each at its own period."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._active: dict[CommitId, _Operation] = {}
        self._pid = 0
        self._wake = threading.Event()
        self._next = 0.0

    @contextmanager
    def renewing(self, store: HeartbeatStore, operation: CommitId, period: float) -> Iterator[None]:
        """Renew the heartbeat of an operation while the block runs."""
        due = SYSTEM_CLOCK.monotonic() + period
        with self._lock:
            self._active[operation] = _Operation(store, period, due)
            if self._pid != os.getpid():
                # First use, or the first after a fork: threads do not survive one.
                self._pid = os.getpid()
                threading.Thread(target=self._run, name="omnigraph-heartbeat", daemon=True).start()
            elif due < self._next:
                self._wake.set()
        try:
            yield
        finally:
            with self._lock:
                ended = self._active.pop(operation)
            if ended.has_beaten:
                with suppress(GraphError):
                    store.remove(operation, ("alive.json",))

    def is_active(self, operation: CommitId) -> bool:
        """Return whether this process is working on an operation."""
        with self._lock:
            return operation in self._active

    def _run(self) -> None:
        while True:
            now = SYSTEM_CLOCK.monotonic()
            with self._lock:
                due = [(key, each) for key, each in self._active.items() if each.due <= now]
                for _, each in due:
                    each.due = now + each.period
                    each.has_beaten = True
                self._next = min(
                    (each.due for each in self._active.values()), default=now + _IDLE_SECONDS
                )
                pause = self._next - now
                self._wake.clear()
            for operation, each in due:
                self._beat(each.store, operation)
            self._wake.wait(pause)

    def _beat(self, store: HeartbeatStore, operation: CommitId) -> None:
        try:
            store.beat(operation)
            if not self.is_active(operation):
                # It ended meanwhile, and has removed its heartbeat already.
                store.remove(operation, ("alive.json",))
        except Exception as error:  # noqa: BLE001 - other operations still need heartbeats
            # One missed heartbeat does no harm: the term is several periods long.
            _log.warning("operation %s missed a heartbeat: %s", operation, error)


HEARTBEATS = HeartbeatThread()
