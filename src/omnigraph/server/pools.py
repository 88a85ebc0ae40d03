"""Where the engine works: bounded pools of threads, one for each kind of work.

Reads, writes, loads and streams have threads of their own, so a read never waits behind a write,
and a slow sender or reader holds up nobody but its like.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from omnigraph.server.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.server.settings import Limits

__all__ = ["Pool", "Pools"]

T = TypeVar("T")


class Pool:
    """Some threads, and a queue that does not grow without end."""

    def __init__(self, name: str, threads: int, limits: Limits) -> None:
        self.name = name
        self.threads = threads
        self.busy = 0
        self._limits = limits
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)

    @property
    def waiting(self) -> int:
        """Calls that no thread has taken up."""
        return max(0, self.busy - self.threads)

    def start(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Do something in a thread, now or when one is free."""
        if self.waiting >= self._limits.queue_max:
            raise Problem(
                503,
                "server.busy",
                f"the server has more {self.name} to do than it can queue",
                remedy="try again in a moment",
                headers={"Retry-After": str(self._limits.busy_retry_seconds)},
            )
        self.busy += 1
        future = asyncio.get_running_loop().run_in_executor(self._executor, work)
        future.add_done_callback(self._done)
        return future

    def _done(self, _: object) -> None:
        self.busy -= 1

    def close(self) -> None:
        """Wait for what has begun, and for what was promised."""
        self._executor.shutdown(wait=True)


class Pools:
    """All the threads of a server."""

    def __init__(self, limits: Limits) -> None:
        self.reads = Pool("reads", limits.read_threads, limits)
        self.writes = Pool("writes", limits.write_threads, limits)
        self.loads = Pool("loads", limits.load_threads, limits)
        self.streams = Pool("streams", limits.stream_threads, limits)

    @property
    def all(self) -> tuple[Pool, ...]:
        return self.reads, self.writes, self.loads, self.streams

    def close(self) -> None:
        for pool in self.all:
            pool.close()
