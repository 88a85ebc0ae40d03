"""Runs an action in a second thread while the caller continues."""

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

__all__ = ["concurrently"]

T = TypeVar("T")

_Inbox = SimpleQueue["Callable[[], None]"]

# Idle threads: every write needs one, and starting one takes three times as long as waking one.
_idle: deque[_Inbox] = deque()
_IDLE_MAX = 8

# Threads do not survive a fork.
os.register_at_fork(after_in_child=_idle.clear)


@contextmanager
def concurrently(action: Callable[[], T], *, apart: bool = True) -> Iterator[Callable[[], T]]:
    """Run an action concurrently with the context.

    The yielded function waits for the action, and returns its result or raises its error; the
    context never ends before the action. Without ``apart`` the action runs first, in this thread.
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
    _submit(run)
    try:
        yield wait
    finally:
        with running:
            pass


def _submit(run: Callable[[], None]) -> None:
    """Run the action in an idle thread, or in a new one."""
    try:
        inbox = _idle.pop()
    except IndexError:
        inbox = SimpleQueue()
        worker = threading.Thread(
            target=_work, args=(inbox,), name="omnigraph-concurrent", daemon=True
        )
        try:
            worker.start()
        except RuntimeError:
            # The process cannot start a thread: it has too many.
            run()
            return
    if sys.is_finalizing():
        # The interpreter is shutting down, and its other threads have stopped.
        run()
    else:
        inbox.put(run)


def _work(inbox: _Inbox) -> None:
    while True:
        inbox.get()()
        if len(_idle) >= _IDLE_MAX:
            return
        _idle.append(inbox)
