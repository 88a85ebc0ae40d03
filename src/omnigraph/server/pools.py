"""Bounded thread pools for the engine, one per kind of work.

Reads, writes, loads and streams have separate threads, so that a read never waits for a write, and
a slow sender or receiver delays only its own kind.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, TypeVar

from omnigraph.server.memory import MemoryReturn
from omnigraph.server.problems import HttpProblem

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.server.settings import ServerLimits

__all__ = ["Pool", "Pools"]

T = TypeVar("T")


class Pool:
    """Threads with a bounded queue."""

    def __init__(
        self, name: str, threads: int, limits: ServerLimits, note_start: Callable[[], None]
    ) -> None:
        self.name = name
        self.threads = threads
        self._running: set[Future[Any]] = set()
        self._limits = limits
        self._note_start = note_start
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)

    @property
    def waiting(self) -> int:
        """The number of calls that wait for a thread."""
        return max(0, self.busy - self.threads)

    def start(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Run a call in a thread, now or when one is free."""
        if self.waiting >= self._limits.queue_max:
            raise HttpProblem(
                503,
                "server.busy",
                f"the queue of {self.name} is full",
                remedy="retry later",
                headers={"Retry-After": str(self._limits.busy_retry_seconds)},
            )
        try:
            running = self._executor.submit(work)
        except RuntimeError:
            raise HttpProblem(
                503, "server.stopping", "the server is shutting down", remedy="use another server"
            ) from None
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        self._note_start()
        return asyncio.wrap_future(running)

    @property
    def busy(self) -> int:
        """The number of calls that have not ended."""
        return len(self._running)

    @property
    def running(self) -> tuple[Future[Any], ...]:
        return tuple(self._running.copy())

    def refuse(self) -> None:
        """Accept no more calls; accepted ones continue."""
        self._executor.shutdown(wait=False)

    def cancel_queued(self) -> None:
        """Drop the calls that no thread has started."""
        self._executor.shutdown(wait=False, cancel_futures=True)


class Pools:
    """The thread pools of a server."""

    def __init__(self, limits: ServerLimits) -> None:
        note = MemoryReturn(lambda: self.busy > 0).call_started
        self.reads = Pool("reads", limits.read_threads, limits, note)
        self.writes = Pool("writes", limits.write_threads, limits, note)
        self.loads = Pool("loads", limits.load_threads, limits, note)
        self.streams = Pool("streams", limits.stream_threads, limits, note)

    @property
    def all(self) -> tuple[Pool, ...]:
        return self.reads, self.writes, self.loads, self.streams

    @property
    def busy(self) -> int:
        return sum(pool.busy for pool in self.all)

    def refuse(self) -> None:
        for pool in self.all:
            pool.refuse()

    def cancel_queued(self) -> None:
        for pool in self.all:
            pool.cancel_queued()

    def wait(self, seconds: float) -> bool:
        """Wait for the accepted calls; return whether all of them ended in time."""
        running = [each for pool in self.all for each in pool.running]
        return not wait(running, timeout=seconds).not_done
