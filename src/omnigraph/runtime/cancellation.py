"""Stopping what runs: a token that any thread may cancel, and the one of the call that runs here.

Long loops of a write ask ``check_cancelled``. A write can be stopped until its commit is about to
become visible: before that nothing of it can be seen, so stopping leaves nothing.

The front end and the planner, which know neither budgets nor tokens, call ``checkpoint`` in their
loops. Within ``checked_by`` it asks the budget of the query that is compiled: deadline and
cancellation alike; elsewhere it asks the token of the call.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from omnigraph.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextvars import Token

__all__ = [
    "Cancellation",
    "cancellable",
    "check_cancelled",
    "checked_by",
    "checkpoint",
    "current_cancellation",
]


class Cancellation:
    """A token that any thread may cancel; the call that has it notices at its next step."""

    __slots__ = ("cancelled",)

    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


_current: ContextVar[Cancellation | None] = ContextVar("omnigraph_cancellation", default=None)
_check: ContextVar[Callable[[], None] | None] = ContextVar("omnigraph_checkpoint", default=None)


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


class checked_by:  # noqa: N801 - used like the function ``cancellable``, at a fraction of its cost
    """Within the block, ``checkpoint`` calls ``check``, which raises to stop the call, after the
    checks of the blocks around."""

    __slots__ = ("_before", "_check")

    def __init__(self, check: Callable[[], None]) -> None:
        self._check = check
        self._before: Token[Callable[[], None] | None]

    def __enter__(self) -> None:
        outer, own = _check.get(), self._check
        self._before = _check.set(own if outer is None else lambda: (outer(), own())[1])

    def __exit__(self, *_: object) -> None:
        _check.reset(self._before)


def checkpoint() -> None:
    """Go on, or stop because the budget of the call is spent or somebody has cancelled it."""
    check = _check.get()
    if check is None:
        check_cancelled()
    else:
        check()
