"""The write lease of a branch: mutual exclusion of processes that would otherwise race each other.

One small object exists while a writer of the branch commits. Writers of different branches never
race, so there is no lease between them. The lease is an optimisation: a writer waits a bounded time
and then continues without it, so neither a dead holder nor a skewed clock blocks anyone. A lease
whose holder shows no heartbeat, by the waiter's own clock, is removed.

A process takes the lease of a branch only while the branch is contended: after a lost race, and as
long as another process holds it. A waiter queues by ticket. A holder passes the lease to the oldest
ticket, which makes it fair; without tickets it removes the lease.
"""

from __future__ import annotations

import json
import secrets
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from omnigraph.coordination.owner import Owner, current_owner
from omnigraph.errors import GraphError, NotFound
from omnigraph.runtime.ids import new_ulid
from omnigraph.runtime.json_text import MALFORMED, parse_json
from omnigraph.versioning import layout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.versioning.root import GraphRoot

__all__ = ["LeaseManager"]

# Pauses of a waiter: short for the next in the queue, exponential backoff for the others.
_PAUSE_NEXT_SECONDS = 0.0005
_PAUSE_MIN_SECONDS = 0.002
_PAUSE_MAX_SECONDS = 0.01


class LeaseManager:
    """The write leases of one graph, one per branch."""

    def __init__(self, root: GraphRoot) -> None:
        self._root = root
        self._clock = root.clock
        self.enabled = True
        # Until when each branch counts as contended.
        self._contended: dict[str, float] = {}

    @contextmanager
    def held(self, branch: str, *, long: bool = False) -> Iterator[bool]:
        """Hold the lease of a branch if it is free in time; yields whether it is held.

        With ``long`` it is renewed in the background, for holders that exceed a term.
        """
        lease = _Lease(self._root, branch)
        mine = lease.acquire() if self.enabled else None
        since = self._clock.monotonic()
        renewal = _Renewal(lease, mine) if long and mine is not None else None
        try:
            yield mine is not None
        finally:
            if renewal is not None:
                mine = renewal.end()
            if lease.has_waited:
                self.note_contention(branch)
            if mine is not None:
                # After a failure of storage the lease stays until a waiter removes it.
                with suppress(GraphError):
                    lease.release(mine, since)

    @contextmanager
    def held_if_contended(self, branch: str) -> Iterator[bool]:
        """Hold the lease of a branch if others write to it; costs one probe if they do not."""
        if not self.enabled or not self._is_contended(branch):
            yield False
            return
        with self.held(branch) as held:
            yield held

    def note_contention(self, branch: str) -> None:
        """Record a lost race: for one term, writers of this process take the lease."""
        term = self._root.limits.lease_term_seconds
        self._contended[branch] = self._clock.monotonic() + term

    def _is_contended(self, branch: str) -> bool:
        until = self._contended.get(branch)
        if until is not None:
            if self._clock.monotonic() < until:
                return True
            self._contended.pop(branch, None)
        try:
            return self._root.locks.exists(layout.write_lease(branch))
        except GraphError:
            return False


class _Lease:
    """The lease of one branch, for one holder."""

    def __init__(self, root: GraphRoot, branch: str) -> None:
        self._limits = root.limits
        self._objects = root.locks
        self._clock = root.clock
        self._branch = branch
        self._key = layout.write_lease(branch)
        self.has_waited = False

    @property
    def renewal_seconds(self) -> float:
        return self._limits.lease_term_seconds / 3

    def acquire(self) -> bytes | None:
        """Take the lease, at the end of the queue if it is held; None when it is not free."""
        mine = json.dumps(current_owner().to_json()).encode()
        try:
            if self._objects.put_if_absent(self._key, mine):
                return mine
            self.has_waited = True
            return self._queue_up(mine)
        except GraphError:
            # Storage refuses a lease now: the protocol is correct without it.
            return None

    def release(self, mine: bytes, since: float) -> None:
        """Pass the lease to the oldest ticket, or remove it."""
        # Only a lease that was held for long may have been removed and taken by another owner.
        long_held = self._clock.monotonic() - since > self._limits.lease_term_seconds
        if long_held and self._holder() != mine:
            return
        for ticket in self._tickets():
            try:
                waiting = self._objects.get(ticket)
            except NotFound:
                continue
            if not _is_gone(waiting):
                self._objects.put(self._key, waiting)
                return
            self._objects.delete(ticket)
        self._objects.delete(self._key)

    def renew(self, mine: bytes) -> bytes:
        """Replace the lease by one with another nonce of the same owner, which proves liveness."""
        with suppress(GraphError):
            if self._holder() == mine:
                fresh = json.dumps(current_owner().to_json()).encode()
                self._objects.put(self._key, fresh)
                return fresh
        return mine

    def _queue_up(self, mine: bytes) -> bytes | None:
        ticket = layout.lease_ticket(self._branch, new_ulid(self._clock))
        self._objects.put(ticket, mine)
        try:
            if self._wait(mine, ticket):
                return mine
        finally:
            self._objects.delete(ticket)
        if self._holder() == mine:
            # It was passed on at the deadline.
            return mine
        return None

    def _wait(self, mine: bytes, ticket: str) -> bool:
        deadline = self._clock.monotonic() + self._limits.lease_wait_seconds
        seen: tuple[bytes, float] | None = None
        pause, is_next = _PAUSE_MIN_SECONDS, False
        while (asked := self._clock.monotonic()) < deadline:
            holder = self._holder()
            if holder == mine:
                return True
            if holder is None:
                if self._objects.put_if_absent(self._key, mine):
                    return True
                continue
            if seen is None or seen[0] != holder:
                seen = (holder, asked)
                is_next = is_next or self._tickets()[:1] == [ticket]
            if _is_gone(holder) or asked - seen[1] > self._limits.lease_term_seconds:
                self._objects.delete(self._key)
                continue
            # On slow storage the pause follows the latency of a request.
            pause = max(min(pause * 1.2, _PAUSE_MAX_SECONDS), self._clock.monotonic() - asked)
            eager = max(_PAUSE_NEXT_SECONDS, self._clock.monotonic() - asked)
            self._clock.sleep(
                (eager if is_next else pause) * (0.5 + secrets.randbelow(1000) / 1000)
            )
        return False

    def _holder(self) -> bytes | None:
        try:
            return self._objects.get(self._key)
        except NotFound:
            return None

    def _tickets(self) -> list[str]:
        return self._objects.list(layout.lease_queue(self._branch))


class _Renewal:
    """A thread that renews a lease until its end."""

    def __init__(self, lease: _Lease, mine: bytes) -> None:
        self._lease = lease
        self._mine = mine
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="omnigraph-lease", daemon=True)
        self._thread.start()

    def end(self) -> bytes:
        """Stop; return the current body of the lease."""
        self._over.set()
        self._thread.join()
        return self._mine

    def _run(self) -> None:
        while not self._over.wait(self._lease.renewal_seconds):
            self._mine = self._lease.renew(self._mine)


def _is_gone(holder: bytes) -> bool:
    try:
        return Owner.from_json(parse_json(holder)).is_gone()
    except MALFORMED:
        return True
