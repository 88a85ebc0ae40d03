"""Turning steps into methods: the signature of a verb, with an answer instead of steps."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from omnigraph.client.requests import Steps

__all__ = ["awaited", "waited"]

P = ParamSpec("P")
T = TypeVar("T")
V = TypeVar("V")


class _Waits(Protocol):
    verbs: Any

    def run(self, steps: Steps[T]) -> T: ...


class _Awaits(Protocol):
    verbs: Any

    async def run(self, steps: Steps[T]) -> T: ...


def waited(verb: Callable[Concatenate[V, P], Steps[T]]) -> Callable[Concatenate[Any, P], T]:
    """A method that runs the steps of a verb and returns what they end with."""

    @wraps(verb)
    def method(self: _Waits, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.run(verb(self.verbs, *args, **kwargs))

    return cast("Callable[Concatenate[Any, P], T]", method)


def awaited(
    verb: Callable[Concatenate[V, P], Steps[T]],
) -> Callable[Concatenate[Any, P], Awaitable[T]]:
    """The same, to be awaited."""

    @wraps(verb)
    async def method(self: _Awaits, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.run(verb(self.verbs, *args, **kwargs))

    return cast("Callable[Concatenate[Any, P], Awaitable[T]]", method)
