"""Decides on retries and backoff, as pure functions that both transports share."""

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
# Refused before any effect, so a retry is always safe.
_WITHOUT_EFFECT = frozenset({"server.busy", "server.stopping", "admission.actor_limit"})
_TRANSIENT = frozenset({502, 503, 504})


@dataclass(slots=True)
class RetryPolicy:
    """The deadline and the retries of one call."""

    request: HttpRequest
    # On the monotonic clock; None: no deadline.
    deadline: float | None
    attempt: int = 0
    # A part of the response has been delivered, so the request cannot be retried.
    streaming: bool = False

    @staticmethod
    def begin(request: HttpRequest, timeout: float | None) -> RetryPolicy:
        now = SYSTEM_CLOCK.monotonic()
        return RetryPolicy(request, None if timeout is None else now + timeout)

    @property
    def left(self) -> float | None:
        """Seconds until the deadline."""
        if self.deadline is None:
            return None
        return max(self.deadline - SYSTEM_CLOCK.monotonic(), 0.001)

    def after_failure(self, *, sent: bool) -> float | None:
        """Return the backoff after a broken connection; None: give up."""
        again = not sent or (self.request.repeatable and not self.streaming)
        return self._wait() if again else None

    def after_refusal(self, status: int, code: str, headers: Mapping[str, str]) -> float | None:
        """Return the backoff after a refusal; None: the refusal is final."""
        begun = code not in _WITHOUT_EFFECT
        if begun and not (self.request.repeatable and status in _TRANSIENT):
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
    """Return the error of a request that never reached the server, and had no effect."""
    return errors.StorageFault(
        "client.unreachable",
        f"cannot connect to {uri}:  {error or type(error).__name__}",
        remedy="check that the server is running and that the address is correct",
    )


def lost_reply(uri: str, request: HttpRequest, error: Exception) -> errors.GraphError:
    """Return the error of a write whose response is lost."""
    what = f"{request.method} {request.path}"
    key = request.headers.get("Idempotency-Key")
    if request.repeatable and key is None:
        return errors.StorageFault(
            "client.no_answer",
            f"no response from {uri} to {what}:  {{error or type(error).__name__}}",
        )
    return errors.OutcomeUnknown(
        "client.outcome_unknown",
        f"no response from {uri} to {what}, which may have succeeded:  "
        f"{error or type(error).__name__}",
        remedy="check the graph before you repeat the request"
        if key is None
        else f"repeat it with idempotency_key={key!r}: it has an effect only once",
        details={} if key is None else {"idempotency_key": key},
    )
