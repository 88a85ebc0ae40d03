"""The lock of a cluster: a lease that ends with its holder, with a fencing number.

Locks are numbered objects, put if absent; the highest number is the fencing number in force. A
holder ends its lock by a marker, and renews a heartbeat while it lives. The lock of a dead holder
is taken over by putting the next number: at once if the process ran on this machine, otherwise
after its heartbeat has not changed for a term, by the clock of the waiter. Before each effect a
holder checks that its number is still the highest.
"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from omnigraph.cluster.reporting import refuse
from omnigraph.coordination.owner import Owner, current_owner
from omnigraph.errors import GraphError, NotFound
from omnigraph.frozen import frozen
from omnigraph.runtime.clock import SYSTEM_CLOCK, Clock, format_micros
from omnigraph.runtime.faults import reach
from omnigraph.runtime.ids import new_short_id, new_ulid
from omnigraph.runtime.json_text import MALFORMED, parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.ports.objects import ObjectStore

__all__ = ["LOCKS", "ClusterLock", "HeldLock", "LockInfo"]

LOCKS = "__cluster/lock"
_VERSION = 1
TERM_SECONDS = 15.0


@frozen
class LockInfo:
    """A lock as it is stored; ``ended`` if its holder released it."""

    number: int
    lock_id: str
    operation: str
    created_at_micros: int
    owner: Owner
    actor: str | None
    ended: bool

    def to_json(self, now_micros: int) -> dict[str, Any]:
        return {
            "locked": not self.ended,
            "lock_id": self.lock_id,
            "lock_operation": self.operation,
            "lock_created_at": format_micros(self.created_at_micros),
            "lock_pid": self.owner.pid,
            "lock_age_seconds": max(0, (now_micros - self.created_at_micros) // 1_000_000),
        }


class HeldLock:
    """The lock that this process holds. ``fence`` is its fencing number."""

    def __init__(self, store: ObjectStore, info: LockInfo, *, took_over: bool) -> None:
        self.info = info
        # The previous holder died: its pending writes must be fenced off.
        self.took_over = took_over
        self._store = store
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="omnigraph-cluster", daemon=True)
        self._thread.start()

    @property
    def fence(self) -> int:
        return self.info.number

    def require(self) -> None:
        """Refuse to continue if the lock was taken over or removed."""
        numbers = _numbers(self._store)
        if numbers[-1:] != [self.fence] or self._store.exists(_key(self.fence, "end")):
            refuse(
                "state_lock_id_mismatch",
                _key(self.fence),
                f"the lock {self.info.lock_id} was taken over; nothing further was written",
                remedy="run the command again",
            )

    def release(self) -> None:
        self._over.set()
        self._thread.join()
        # After a failure of storage the lock ends with this process.
        with suppress(GraphError):
            self._store.put_if_absent(_key(self.fence, "end"), b"{}")

    def _renew(self) -> None:
        while not self._over.wait(TERM_SECONDS / 3):
            with suppress(GraphError):
                self._store.put(_key(self.fence, "beat"), _beat(SYSTEM_CLOCK))


class ClusterLock:
    """The locks of one cluster root."""

    def __init__(self, store: ObjectStore, clock: Clock = SYSTEM_CLOCK) -> None:
        self._store = store
        self._clock = clock

    def current(self) -> LockInfo | None:
        """Return the newest lock, ended or not."""
        numbers = _numbers(self._store)
        return self._read(numbers[-1]) if numbers else None

    @contextmanager
    def held(self, operation: str, *, actor: str | None = None) -> Iterator[HeldLock]:
        """Hold the lock while the block runs, or refuse with ``state_lock_held``."""
        lock = self._acquire(operation, actor)
        try:
            reach("cluster.locked")
            yield lock
        finally:
            lock.release()

    def force_unlock(self, lock_id: str) -> None:
        """End a lock by its id."""
        info = self.current()
        if info is None or info.ended:
            refuse("state_lock_missing", LOCKS, "the cluster is not locked")
        if info.lock_id != lock_id:
            refuse(
                "state_lock_id_mismatch",
                LOCKS,
                f"the cluster is locked by {info.lock_id}, not by {lock_id}",
                remedy="see `omnigraph cluster status`",
            )
        self._store.put_if_absent(_key(info.number, "end"), b"{}")

    def _acquire(self, operation: str, actor: str | None) -> HeldLock:
        try:
            self._store.create_root()
            before = self.current()
            if before is not None and not before.ended and not self._is_dead(before):
                _refuse_held(before)
            number = before.number + 1 if before else 1
            info = LockInfo(
                number,
                str(new_ulid(self._clock)),
                operation,
                self._clock.now_micros(),
                current_owner(),
                actor,
                ended=False,
            )
            self._store.put(_key(number, "beat"), _beat(self._clock))
            if not self._store.put_if_absent(_key(number), _body(info)):
                _refuse_held(self._read(number))
            newest = _numbers(self._store)[-1]
            if newest != number:
                # An old number was free again because it had been removed.
                self._store.delete(_key(number))
                _refuse_held(self._read(newest))
            self._remove_before(number - 1)
        except GraphError as error:
            refuse("state_lock_error", LOCKS, error.message, remedy=error.remedy)
        return HeldLock(self._store, info, took_over=before is not None and not before.ended)

    def _is_dead(self, info: LockInfo) -> bool:
        if info.owner.is_here():
            return info.owner.is_gone()
        seen = self._heartbeat(info.number)
        deadline = self._clock.monotonic() + TERM_SECONDS
        while self._clock.monotonic() < deadline:
            if self._is_fresh(seen):
                return False
            self._clock.sleep(1.0)
            found = self._heartbeat(info.number)
            if found != seen:
                return False
        return True

    def _is_fresh(self, beat: bytes) -> bool:
        try:
            at = int(parse_json(beat)["at_micros"])
        except MALFORMED:
            return False
        return 0 <= self._clock.now_micros() - at < TERM_SECONDS * 1_000_000

    def _heartbeat(self, number: int) -> bytes:
        try:
            return self._store.get(_key(number, "beat"))
        except NotFound:
            return b""

    def _read(self, number: int) -> LockInfo:
        key = _key(number)
        try:
            found = parse_json(self._store.get(key))
            if found["version"] != _VERSION:
                refuse("unsupported_state_lock_version", key, f"version {found['version']!r}")
            return LockInfo(
                number,
                str(found["lock_id"]),
                str(found["operation"]),
                int(found["created_at_micros"]),
                Owner.from_json(found["owner"]),
                found.get("actor"),
                self._store.exists(_key(number, "end")),
            )
        except MALFORMED as error:
            refuse("invalid_state_lock", key, f"the lock cannot be read: {error}")

    def _remove_before(self, number: int) -> None:
        for key in self._store.list(LOCKS):
            if _number(key) < number:
                self._store.delete(key)


def _refuse_held(info: LockInfo) -> None:
    by = f" by {info.actor}" if info.actor else ""
    refuse(
        "state_lock_held",
        LOCKS,
        f"`{info.operation}` holds the lock{by} since {format_micros(info.created_at_micros)}: "
        f"{info.lock_id}",
        remedy="wait until it ends; the lock of a dead process ends by itself",
    )


def _key(number: int, kind: str = "json") -> str:
    return f"{LOCKS}/{number:08d}.{kind}"


def _number(key: str) -> int:
    stem = key.rpartition("/")[2].partition(".")[0]
    return int(stem) if stem.isdigit() else 0


def _numbers(store: ObjectStore) -> list[int]:
    return sorted(_number(key) for key in store.list(LOCKS) if key.endswith(".json"))


def _beat(clock: Clock) -> bytes:
    return json.dumps({"at_micros": clock.now_micros(), "nonce": new_short_id()}).encode()


def _body(info: LockInfo) -> bytes:
    return json.dumps(
        {
            "version": _VERSION,
            "lock_id": info.lock_id,
            "operation": info.operation,
            "created_at_micros": info.created_at_micros,
            "pid": info.owner.pid,
            "owner": info.owner.to_json(),
            "actor": info.actor,
        },
        indent=2,
    ).encode()
