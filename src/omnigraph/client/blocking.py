"""Drives coroutines to their end without an event loop.

The synchronous client runs the coroutines of the asynchronous one on a transport that blocks, so
they never suspend.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator

__all__ = ["blocking", "iterate", "run"]

P = ParamSpec("P")
T = TypeVar("T")
A = TypeVar("A")


def run(awaitable: Awaitable[T]) -> T:
    """Return the result of a coroutine that never suspends."""
    try:
        next(awaitable.__await__())
    except StopIteration as end:
        return cast("T", end.value)
    raise RuntimeError("a coroutine of the synchronous client was suspended")


def iterate(items: AsyncIterator[T]) -> Iterator[T]:
    """Iterate over an asynchronous generator that never suspends."""
    while True:
        try:
            item = run(anext(items))
        except StopAsyncIteration:
            return
        yield item


def blocking(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Any, P], T]:
    """Turn a coroutine method into a method of ``Blocking``, with the same parameters."""

    @wraps(method)
    def call(self: Any, *args: P.args, **kwargs: P.kwargs) -> T:
        return run(method(self.asynchronous, *args, **kwargs))

    # The name of ``self`` is no part of the signature.
    return cast("Callable[Concatenate[Any, P], T]", call)
