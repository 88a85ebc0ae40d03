"""Cancels calls: a token that any thread may cancel, and the token of the current call.

Long loops of a write call ``check_cancelled``. A write can be cancelled until its commit is about
to become visible; until then it has no visible effect.

The front end and the planner, which know neither budgets nor tokens, call ``checkpoint`` in their
loops. Within ``checked_by`` it checks the budget of the query that is compiled: deadline and
cancellation; elsewhere it checks the token of the call.
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
    """A token that any thread may cancel; the call checks it at its next step."""

    __slots__ = ("cancelled",)

    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


_current: ContextVar[Cancellation | None] = ContextVar("omnigraph_cancellation", default=None)
_check: ContextVar[Callable[[], None] | None] = ContextVar("omnigraph_checkpoint", default=None)


@contextmanager
def cancellable(token: Cancellation) -> Iterator[None]:
    """Make this the token of ``check_cancelled`` for the duration of the context."""
    before = _current.set(token)
    try:
        yield
    finally:
        _current.reset(before)


def current_cancellation() -> Cancellation | None:
    """Return the token of the current call, for a thread that supervises it."""
    return _current.get()


def check_cancelled() -> None:
    """Raise an error if the current call is cancelled."""
    token = current_cancellation()
    if token is not None and token.cancelled:
        raise GraphError(
            "operation.cancelled",
            "the operation was cancelled; nothing was changed",
            remedy="run it again if necessary",
        )


class checked_by:  # noqa: N801 - used like the function ``cancellable``, at a fraction of its cost
    """Make ``checkpoint`` call ``check``, which raises to stop, after outer checks."""

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
    """Raise an error if the budget of the call is exhausted or the call is cancelled."""
    check = _check.get()
    if check is None:
        check_cancelled()
    else:
        check()
