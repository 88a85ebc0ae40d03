"""Stopping what runs: a token that any thread may cancel, and the one of the call that runs here.

Long loops of a write ask ``check_cancelled``. A write can be stopped until its commit is about to
become visible: before that nothing of it can be seen, so stopping leaves nothing.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from omnigraph.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Cancellation", "cancellable", "check_cancelled", "current_cancellation"]


class Cancellation:
    """A token that any thread may cancel; the call that has it notices at its next step."""

    __slots__ = ("cancelled",)

    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


_current: ContextVar[Cancellation | None] = ContextVar("omnigraph_cancellation", default=None)


@contextmanager
def cancellable(token: Cancellation) -> Iterator[None]:
    """Within the block, ``check_cancelled`` asks this token."""
    before = _current.set(token)
    try:
        yield
    finally:
        _current.reset(before)


def current_cancellation() -> Cancellation | None:
    """The token of the call that runs here, for a thread that watches over it."""
    return _current.get()


def check_cancelled() -> None:
    """Go on, or stop because somebody has cancelled the call that runs here."""
    token = current_cancellation()
    if token is not None and token.cancelled:
        raise GraphError(
            "operation.cancelled",
            "the operation was cancelled; nothing was changed",
            remedy="run it again if it is needed",
        )
