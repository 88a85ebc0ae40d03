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
    thread.start()

    def wait() -> None:
        thread.join()
        if failures:
            raise failures[0]

    try:
        yield wait
    finally:
        thread.join()


def _nothing_left() -> None:
    """The action is over."""
