"""Wraps a port to act between two requests, or to lose a reply.

It makes races deterministic: the test defines the concurrent action before the third
``put_if_absent``, or discards the reply of the swap.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from omnigraph.errors import StorageFault

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Between", "Interruption", "Pause", "lose_reply"]


@dataclass
class Interruption:
    """An action around the ``nth`` call of a method whose first argument starts with ``prefix``."""

    verb: str
    action: Callable[[], object]
    nth: int = 1
    prefix: str = ""
    after: bool = False
    # The number of matching calls, and whether the action has run.
    seen: int = 0
    done: bool = False

    def strikes(self, verb: str, arguments: tuple[Any, ...], *, after: bool) -> bool:
        if verb != self.verb or after != self.after or self.done:
            return False
        first = getattr(arguments[0], "path", arguments[0]) if arguments else ""
        if not str(first).startswith(self.prefix):
            return False
        self.seen += 1
        self.done = self.seen == self.nth
        return self.done


@dataclass
class Between:
    """Forwards all calls to a port, with interruptions."""

    inner: Any
    interruptions: list[Interruption] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)

    def __getattr__(self, verb: str) -> Any:
        found = getattr(self.inner, verb)
        if not callable(found):
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            first = getattr(arguments[0], "path", arguments[0]) if arguments else ""
            self.calls.append((verb, str(first)))
            self._interrupt(verb, arguments, after=False)
            answer = found(*arguments, **named)
            self._interrupt(verb, arguments, after=True)
            return answer

        return call

    def _interrupt(self, verb: str, arguments: tuple[Any, ...], *, after: bool) -> None:
        struck = [
            interruption
            for interruption in self.interruptions
            if interruption.strikes(verb, arguments, after=after)
        ]
        for interruption in struck:
            interruption.action()


@dataclass
class Pause:
    """An action that suspends its thread until the test resumes it."""

    reached: threading.Event = field(default_factory=threading.Event)
    resumed: threading.Event = field(default_factory=threading.Event)
    # A failing test must not leave a suspended thread.
    seconds_max: float = 60.0

    def __call__(self) -> None:
        self.reached.set()
        self.resumed.wait(self.seconds_max)

    def await_reached(self) -> None:
        if not self.reached.wait(self.seconds_max):
            raise TimeoutError("no thread has come to the pause")


def lose_reply() -> None:
    """Fail like a lost request (before the call) or a lost reply (after it)."""
    raise StorageFault("storage.injected", "the connection broke, as a test ordered")
