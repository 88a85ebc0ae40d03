"""The heart: one thread per process that keeps the intents of its living operations warm.

A short attempt is over before the first beat. A long one is seen to live, so nobody voids it.
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

__all__ = ["HEART", "HeartbeatStore", "HeartbeatThread"]

_log = logging.getLogger("omnigraph.recovery")

# How long the heart sleeps when nothing lives; a quicker operation wakes it.
_IDLE_SECONDS = 15.0


class HeartbeatStore(Protocol):
    """Keeps the last heartbeat of each operation where other processes read it."""

    def beat(self, operation: CommitId) -> None:
        """Record a heartbeat."""

    def remove(self, operation: CommitId, endings: tuple[str, ...] = ...) -> None:
        """Remove the files of an operation that have one of the endings."""


@dataclass(slots=True)
class _Life:
    store: HeartbeatStore
    period: float
    due: float
    has_beaten: bool = False


class HeartbeatThread:
    """Beats for every registered operation, once per period of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._living: dict[CommitId, _Life] = {}
        self._pid = 0
        self._wake = threading.Event()
        self._next = 0.0

    @contextmanager
    def beating(self, store: HeartbeatStore, operation: CommitId, period: float) -> Iterator[None]:
        """Keep an operation warm while the block runs."""
        due = SYSTEM_CLOCK.monotonic() + period
        with self._lock:
            self._living[operation] = _Life(store, period, due)
            if self._pid != os.getpid():
                # First use, or the first after a fork: threads do not survive one.
                self._pid = os.getpid()
                threading.Thread(target=self._run, name="omnigraph-heart", daemon=True).start()
            elif due < self._next:
                self._wake.set()
        try:
            yield
        finally:
            with self._lock:
                life = self._living.pop(operation)
            if life.has_beaten:
                with suppress(GraphError):
                    store.remove(operation, ("alive.json",))

    def is_living(self, operation: CommitId) -> bool:
        """Whether this very process is at work on an operation."""
        with self._lock:
            return operation in self._living

    def _run(self) -> None:
        while True:
            now = SYSTEM_CLOCK.monotonic()
            with self._lock:
                due = [(key, life) for key, life in self._living.items() if life.due <= now]
                for _, life in due:
                    life.due = now + life.period
                    life.has_beaten = True
                self._next = min(
                    (life.due for life in self._living.values()), default=now + _IDLE_SECONDS
                )
                pause = self._next - now
                self._wake.clear()
            for operation, life in due:
                self._beat(life.store, operation)
            self._wake.wait(pause)

    def _beat(self, store: HeartbeatStore, operation: CommitId) -> None:
        try:
            store.beat(operation)
            if not self.is_living(operation):
                # It ended between the question and the beat: leave nothing behind.
                store.remove(operation, ("alive.json",))
        except Exception as error:  # noqa: BLE001 - the other operations still need the heart
            # A missed beat is not a failure: the term is several periods long.
            _log.warning("operation %s missed a beat: %s", operation, error)


HEART = HeartbeatThread()
