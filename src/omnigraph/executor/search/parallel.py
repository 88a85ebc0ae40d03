"""Sharing work between threads, so that nobody waits for a thread that gets no processor."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["in_chunks"]

_HELPERS_MAX = 7


def in_chunks(total: int, size: int, work: Callable[[slice], None]) -> None:
    """Do ``work`` on every chunk of so many items.

    Helpers take chunks as long as there are any, and so does the caller: a helper that was never
    run costs nothing, a slow one delays by one chunk at most.
    """
    starts = iter(range(0, total, size))
    lock = threading.Lock()

    def drain() -> None:
        while True:
            with lock:
                start = next(starts, None)
            if start is None:
                return
            work(slice(start, start + size))

    wanted = min(_helpers(), (total - 1) // size)
    helpers = [_pool().submit(drain) for _ in range(wanted)]
    drain()
    for helper in helpers:
        if not helper.cancel():
            helper.result()


@cache
def _helpers() -> int:
    return min(_HELPERS_MAX, (os.cpu_count() or 1) - 1)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, _helpers()), thread_name_prefix="omnigraph-search")
