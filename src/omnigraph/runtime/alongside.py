"""Doing two things at once."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["alongside"]

T = TypeVar("T")


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

    def run() -> None:
        try:
            results.append(action())
        except BaseException as failure:  # noqa: BLE001 - raised where it is waited for
            failures.append(failure)

    thread = threading.Thread(target=run, name="omnigraph-alongside")
    try:
        thread.start()
    except RuntimeError:
        # No thread is to be had: the interpreter is ending, or the process has too many.
        run()

    def wait() -> T:
        _join(thread)
        if failures:
            raise failures[0]
        return results[0]

    try:
        yield wait
    finally:
        _join(thread)


def _join(thread: threading.Thread) -> None:
    if thread.ident is not None:
        thread.join()
