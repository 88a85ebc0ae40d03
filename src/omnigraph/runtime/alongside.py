"""Doing two things at once that wait for the same disk."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["alongside"]


@contextmanager
def alongside(action: Callable[[], object], *, apart: bool = True) -> Iterator[Callable[[], None]]:
    """Run an action beside the block. What the block is given waits for the action and raises what
    it raised; the block never ends before it. Not ``apart``, the action comes first.
    """
    if not apart:
        action()
        yield _nothing_left
        return
    failures: list[BaseException] = []

    def run() -> None:
        try:
            action()
        except BaseException as failure:  # noqa: BLE001 - raised where it is waited for
            failures.append(failure)

    thread = threading.Thread(target=run, name="omnigraph-alongside")
    try:
        thread.start()
    except RuntimeError:
        # No thread is to be had: the interpreter is ending, or the process has too many.
        run()

    def wait() -> None:
        _join(thread)
        if failures:
            raise failures[0]

    try:
        yield wait
    finally:
        _join(thread)


def _join(thread: threading.Thread) -> None:
    if thread.ident is not None:
        thread.join()


def _nothing_left() -> None:
    """The action is over."""
