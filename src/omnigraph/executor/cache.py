"""What is decoded once and kept: one owner, one byte budget for the whole process.

Everything in here is derived from an immutable pin and keyed by its identity, so nothing is ever
invalidated and all branches that share a pin share it. What was used least recently makes room.
Right answers never depend on what is here.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from omnigraph.frozen import frozen
from omnigraph.runtime.budget import machine_memory_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from omnigraph.ports.tables import Pin

__all__ = ["BUDGET_VARIABLE", "ByteCache", "CacheUse", "PinKey", "Sized", "pin_key", "shared_cache"]

BUDGET_VARIABLE = "OMNIGRAPH_CACHE_BYTES"
_MEMORY_SHARE = 8

# The identity of a pin: its number alone can be reused.
PinKey = tuple[str, int, str]


class Sized(Protocol):
    """What can be kept: it knows what it weighs, and says when it grows."""

    @property
    def nbytes(self) -> int: ...


S = TypeVar("S", bound=Sized)


@frozen
class CacheUse:
    """How full the cache is, and how often it helped."""

    budget_bytes: int
    used_bytes: int
    entries: int
    hits: int
    misses: int
    evictions: int


def pin_key(pin: Pin) -> PinKey:
    return (pin.path, pin.version, pin.fingerprint)


class ByteCache:
    """Values by key, bounded by bytes. Thread-safe; a value is made by one thread at a time."""

    def __init__(self, budget_bytes: int) -> None:
        self._budget = budget_bytes
        self._lock = threading.Lock()
        self._entries: dict[Hashable, _Entry] = {}
        self._uses = 0
        self._making: dict[Hashable, threading.Lock] = {}
        self._used = 0
        self._hits = self._misses = self._evictions = 0
        # Seconds spent on reading parts of what is not kept.
        self._spent: OrderedDict[Hashable, float] = OrderedDict()

    @property
    def budget_bytes(self) -> int:
        return self._budget

    def resize(self, budget_bytes: int) -> None:
        """Another budget, at once."""
        with self._lock:
            self._budget = budget_bytes
            self._evict()

    def use(self) -> CacheUse:
        with self._lock:
            return CacheUse(
                self._budget,
                self._used,
                len(self._entries),
                self._hits,
                self._misses,
                self._evictions,
            )

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._spent.clear()
            self._used = 0

    def __contains__(self, key: Hashable) -> bool:
        return key in self._entries

    def get(self, key: Hashable) -> Any:
        """The value, or None."""
        found = self._entries.get(key)
        if found is None:
            return None
        # No lock: when two threads count as one, an entry looks a little older than it is.
        self._uses += 1
        self._hits += 1
        found.last_use = self._uses
        return found.value

    def get_or_make(self, key: Hashable, make: Callable[[], S]) -> S:
        """The value; when it is missing, one thread makes it and the others wait for it."""
        found: S | None = self.get(key)
        if found is not None:
            return found
        with self._lock:
            maker = self._making.setdefault(key, threading.Lock())
        with maker:
            found = self.get(key)
            if found is None:
                try:
                    found = make()
                finally:
                    with self._lock:
                        self._making.pop(key, None)
                self.put(key, found)
        return found

    def put(self, key: Hashable, value: Sized) -> None:
        """Keep a value, unless it alone is beyond the budget."""
        with self._lock:
            self._misses += 1
            self._keep(key, value, value.nbytes)

    def weigh(self, key: Hashable, value: Sized) -> None:
        """Note that a value that is kept has grown."""
        with self._lock:
            if key in self._entries and self._entries[key].value is value:
                self._keep(key, value, value.nbytes)

    def spend(self, key: Hashable, seconds: float) -> None:
        """Note what reading parts of something has cost; see ``spent``."""
        with self._lock:
            self._spent[key] = self._spent.get(key, 0.0) + seconds
            self._spent.move_to_end(key)
            while len(self._spent) > _SPENT_MAX:
                self._spent.popitem(last=False)

    def spent(self, key: Hashable) -> float:
        """Seconds spent on parts of something; when they add up, the whole is worth keeping."""
        return self._spent.get(key, 0.0)

    def _keep(self, key: Hashable, value: Sized, size: int) -> None:
        earlier = self._entries.pop(key, None)
        self._used -= earlier.size if earlier else 0
        if size <= self._budget:
            self._uses += 1
            self._entries[key] = _Entry(value, size, self._uses)
            self._used += size
            self._evict()

    def _evict(self) -> None:
        """Let go of what was used least recently, until the rest fits."""
        while self._used > self._budget and self._entries:
            oldest = min(self._entries, key=lambda key: self._entries[key].last_use)
            self._used -= self._entries.pop(oldest).size
            self._evictions += 1


@dataclass(slots=True)
class _Entry:
    value: Any
    size: int
    last_use: int


_SPENT_MAX = 4_096


@cache
def shared_cache() -> ByteCache:
    """The cache of this process; ``OMNIGRAPH_CACHE_BYTES`` sets its budget."""
    given = os.environ.get(BUDGET_VARIABLE, "")
    return ByteCache(int(given) if given.isdigit() else machine_memory_bytes() // _MEMORY_SHARE)
