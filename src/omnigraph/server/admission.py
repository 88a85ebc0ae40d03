"""Limits the concurrent writes of one actor, so that no actor starves the others."""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING

from omnigraph.server.problems import HttpProblem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.server.settings import ServerLimits

__all__ = ["Admission"]


class Admission:
    """The writes in flight, by actor. Used by the event loop only, so it needs no lock."""

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._writes: dict[str | None, int] = defaultdict(int)
        self._bytes: dict[str | None, int] = defaultdict(int)

    @contextmanager
    def admit(self, actor: str | None, size: int) -> Iterator[None]:
        """Admit a write for the duration of the context, or answer 429."""
        limits = self._limits
        if self._writes[actor] >= limits.actor_writes_max:
            raise self._refused("actor_writes", limits.actor_writes_max, self._writes[actor] + 1)
        if self._bytes[actor] + size > limits.actor_bytes_max:
            raise self._refused("actor_bytes", limits.actor_bytes_max, self._bytes[actor] + size)
        self._writes[actor] += 1
        self._bytes[actor] += size
        try:
            yield
        finally:
            self._writes[actor] -= 1
            self._bytes[actor] -= size
            if not self._writes[actor]:
                del self._writes[actor], self._bytes[actor]

    def _refused(self, name: str, limit: int, actual: int) -> HttpProblem:
        return HttpProblem(
            429,
            "admission.actor_limit",
            f"too many concurrent writes of this actor: {name} {actual}, limit {limit}",
            remedy="retry when some of the writes have ended",
            more={"resource_limit": {"name": name, "limit": limit, "actual": actual}},
            headers={"Retry-After": str(self._limits.actor_retry_seconds)},
        )
