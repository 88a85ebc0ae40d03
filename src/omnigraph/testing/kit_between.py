"""A port that lets a test act between two requests, or lose a reply.

Races are won by luck with threads and by design with this: the test says what somebody else does
just before the third ``put_if_absent``, or that the answer of the swap never arrives.
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
    """What happens around the ``nth`` call of a verb whose argument starts with ``prefix``."""

    verb: str
    action: Callable[[], object]
    nth: int = 1
    prefix: str = ""
    after: bool = False
    # How many calls have matched, and whether the action has run.
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
    """Passes everything on to a port, with interruptions."""

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
    """An action that stops the thread that meets it until the test resumes it."""

    reached: threading.Event = field(default_factory=threading.Event)
    resumed: threading.Event = field(default_factory=threading.Event)
    # A test that fails must not leave a thread behind.
    seconds_max: float = 60.0

    def __call__(self) -> None:
        self.reached.set()
        self.resumed.wait(self.seconds_max)

    def await_reached(self) -> None:
        if not self.reached.wait(self.seconds_max):
            raise TimeoutError("no thread has come to the pause")


def lose_reply() -> None:
    """Before a request: it never arrived. After it: it was answered, and the answer got lost."""
    raise StorageFault("storage.injected", "the connection broke, as a test ordered")
