"""Doing two things at once."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["alongside"]

T = TypeVar("T")

_Inbox = SimpleQueue["Callable[[], None]"]

# Threads that wait for their next action: every write needs one, and to start one takes three times
# as long as to wake one.
_idle: deque[_Inbox] = deque()
_IDLE_MAX = 8

# Threads do not survive a fork.
os.register_at_fork(after_in_child=_idle.clear)


@contextmanager
def alongside(action: Callable[[], T], *, apart: bool = True) -> Iterator[Callable[[], T]]:
    """Run an action beside the block. What the block is given waits for the action, and returns or
    raises what it did; the block never ends before it. Not ``apart``, the action comes first.
    """
    if not apart:
        result = action()
        yield lambda: result
        return
    results: list[T] = []
    failures: list[BaseException] = []
    running = threading.Lock()

    def run() -> None:
        try:
            results.append(action())
        except BaseException as failure:  # noqa: BLE001 - raised where it is waited for
            failures.append(failure)
        finally:
            running.release()

    def wait() -> T:
        with running:
            if failures:
                raise failures[0]
            return results[0]

    running.acquire()
    _hand_over(run)
    try:
        yield wait
    finally:
        with running:
            pass


def _hand_over(run: Callable[[], None]) -> None:
    """Have an idle thread run it, or a new one."""
    try:
        inbox = _idle.pop()
    except IndexError:
        inbox = SimpleQueue()
        worker = threading.Thread(
            target=_work, args=(inbox,), name="omnigraph-alongside", daemon=True
        )
        try:
            worker.start()
        except RuntimeError:
            # No thread is to be had: the process has too many.
            run()
            return
    if sys.is_finalizing():
        # The interpreter is ending, and its other threads have stopped.
        run()
    else:
        inbox.put(run)


def _work(inbox: _Inbox) -> None:
    while True:
        inbox.get()()
        if len(_idle) >= _IDLE_MAX:
            return
        _idle.append(inbox)
