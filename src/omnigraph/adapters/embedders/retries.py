"""Exponential backoff with jitter, within a deadline. Pure but for the randomness."""

from __future__ import annotations

import secrets
from email.utils import parsedate_to_datetime

from omnigraph.frozen import frozen
from omnigraph.runtime.clock import SYSTEM_CLOCK, datetime_to_micros

__all__ = ["Backoff", "parse_retry_after"]

# Further doubling would only sleep through the deadline.
_DOUBLINGS_MAX = 10


@frozen
class Backoff:
    """The waits between the attempts of one request."""

    attempts: int
    base_seconds: float

    def pause(self, attempt: int, retry_after: float | None, left: float) -> float | None:
        """Return the seconds until the next attempt; None: give up.

        ``attempt`` counts from 0; ``retry_after`` is what the provider asks for, ``left`` the time
        until the deadline. A pause beyond the deadline is not waited for.
        """
        if attempt >= self.attempts:
            return None
        doubled = self.base_seconds * 2 ** min(attempt, _DOUBLINGS_MAX)
        # Between half and all of it: callers that failed together do not return together.
        pause = doubled * (0.5 + secrets.randbelow(1_001) / 2_000)
        # Jitter on top of what the provider asks for, never below it.
        pause = pause if retry_after is None else retry_after + pause
        return pause if pause < left else None


def parse_retry_after(text: str | None) -> float | None:
    """Parse the header ``Retry-After``: seconds, or a date of HTTP."""
    if not text:
        return None
    if text.strip().isdecimal():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    return max(0.0, (datetime_to_micros(moment) - SYSTEM_CLOCK.now_micros()) / 1e6)
