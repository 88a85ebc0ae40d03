"""When to try again, and how long to wait: pure, so that both transports agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from omnigraph import errors
from omnigraph.runtime.clock import SYSTEM_CLOCK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.client.requests import HttpRequest

__all__ = ["RetryPolicy", "lost_reply", "unreachable"]

ATTEMPTS_MAX = 5
_WAIT_SECONDS = 0.1
# Refused before anything was done, so that trying again is always right.
_NOT_BEGUN = frozenset({"server.busy", "server.stopping", "admission.actor_limit"})
_PASSING = frozenset({502, 503, 504})


@dataclass(slots=True)
class RetryPolicy:
    """One call with all its repetitions, against the clock."""

    request: HttpRequest
    # On the clock that never goes back; None: for as long as it takes.
    deadline: float | None
    attempt: int = 0
    # Some of the answer has been handed on: it cannot be begun again.
    streaming: bool = False

    @staticmethod
    def begin(request: HttpRequest, timeout: float | None) -> RetryPolicy:
        now = SYSTEM_CLOCK.monotonic()
        return RetryPolicy(request, None if timeout is None else now + timeout)

    @property
    def left(self) -> float | None:
        """Seconds that are left for the next attempt."""
        if self.deadline is None:
            return None
        return max(self.deadline - SYSTEM_CLOCK.monotonic(), 0.001)

    def after_failure(self, *, sent: bool) -> float | None:
        """How long to wait after a broken connection; None: give up."""
        again = not sent or (self.request.repeatable and not self.streaming)
        return self._wait() if again else None

    def after_refusal(self, status: int, code: str, headers: Mapping[str, str]) -> float | None:
        """How long to wait after an answer; None: it is the answer."""
        begun = code not in _NOT_BEGUN
        if begun and not (self.request.repeatable and status in _PASSING):
            return None
        if code in ("query.time_limit", "request.deadline"):
            return None
        asked = headers.get("retry-after", "")
        return self._wait(float(asked) if asked.isdigit() else 0.0)

    def _wait(self, least: float = 0.0) -> float | None:
        self.attempt += 1
        pause: float = max(least, _WAIT_SECONDS * 2 ** (self.attempt - 1))
        left = self.left
        if self.attempt >= ATTEMPTS_MAX or (left is not None and pause >= left):
            return None
        return pause


def unreachable(uri: str, error: Exception) -> errors.GraphError:
    """Nothing was done, because nobody was there."""
    return errors.StorageFault(
        "client.unreachable",
        f"{uri} cannot be reached: {error or type(error).__name__}",
        remedy="is the server running, and is the address right?",
    )


def lost_reply(uri: str, request: HttpRequest, error: Exception) -> errors.GraphError:
    """A write was sent, and no answer came."""
    what = f"{request.method} {request.path}"
    key = request.headers.get("Idempotency-Key")
    if request.repeatable and key is None:
        return errors.StorageFault(
            "client.no_answer", f"{uri} did not answer {what}: {error or type(error).__name__}"
        )
    return errors.OutcomeUnknown(
        "client.outcome_unknown",
        f"{uri} did not answer {what}; it may have been done: {error or type(error).__name__}",
        remedy="look before doing it again"
        if key is None
        else f"repeat it with idempotency_key={key!r}: it will be done once",
        details={} if key is None else {"idempotency_key": key},
    )
