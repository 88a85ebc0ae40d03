"""The cache of decoded columns, indexes and adjacencies: one per process, bounded by bytes.

Values derive from immutable pins and are keyed by their identity, so entries never become invalid
and all branches that share a pin share them. Results never depend on the content of the cache.
"""

from __future__ import annotations

import os
import threading
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from omnigraph.frozen import frozen
from omnigraph.runtime.budget import machine_memory_bytes
from omnigraph.runtime.lru_cache import LruCache

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from omnigraph.ports.tables import Pin

__all__ = ["BUDGET_VARIABLE", "ByteCache", "CacheUse", "PinKey", "Sized", "pin_key", "shared_cache"]

BUDGET_VARIABLE = "OMNIGRAPH_CACHE_BYTES"
_MEMORY_SHARE = 8
_SPENT_MAX = 4_096

# The identity of a pin; a version number alone can be reused.
PinKey = tuple[str, int, str]


class Sized(Protocol):
    """A value that reports its size in bytes."""

    @property
    def nbytes(self) -> int: ...


S = TypeVar("S", bound=Sized)


@frozen
class CacheUse:
    """Statistics of a cache."""

    budget_bytes: int
    used_bytes: int
    entries: int
    hits: int
    misses: int
    evictions: int


def pin_key(pin: Pin) -> PinKey:
    return (pin.path, pin.version, pin.fingerprint)


class ByteCache:
    """Values by key, bounded by bytes. Thread-safe; one thread at a time makes a value."""

    def __init__(self, budget_bytes: int) -> None:
        self._values: LruCache[Hashable, Any] = LruCache(max_bytes=budget_bytes, size_of=_size_of)
        self._lock = threading.Lock()
        self._making: dict[Hashable, threading.Lock] = {}
        self._hits = self._misses = 0
        # Seconds spent on partial reads of values that are not cached.
        self._spent: LruCache[Hashable, float] = LruCache(_SPENT_MAX)
        # Bound once: the hottest calls of a query.
        self._get = self._values.get

    @property
    def budget_bytes(self) -> int:
        return self._values.max_bytes or 0

    def resize(self, budget_bytes: int) -> None:
        """Set the budget, and evict what exceeds it."""
        self._values.resize(budget_bytes)

    def use(self) -> CacheUse:
        """Return the statistics of the cache."""
        values = self._values
        return CacheUse(
            self.budget_bytes,
            values.used_bytes,
            len(values),
            self._hits,
            self._misses,
            values.evictions,
        )

    def clear(self) -> None:
        """Evict everything."""
        self._values.clear()
        self._spent.clear()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._values

    def get(self, key: Hashable) -> Any:
        """Return a value; None if it is missing."""
        found = self._get(key)
        if found is not None:
            # No lock: a lost count is harmless.
            self._hits += 1
        return found

    def get_or_make(self, key: Hashable, make: Callable[[], S]) -> S:
        """Return a value; if it is missing, one thread makes it and the others wait."""
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
        """Keep a value, unless it alone exceeds the budget."""
        self._misses += 1
        self._values.put(key, value)

    def weigh(self, key: Hashable, value: Sized) -> None:
        """Measure a value again that has grown."""
        self._values.resize_entry(key, value)

    def spend(self, key: Hashable, seconds: float) -> None:
        """Record the cost of a partial read; see ``spent``."""
        with self._lock:
            self._spent.put(key, (self._spent.get(key) or 0.0) + seconds)

    def spent(self, key: Hashable) -> float:
        """Return the seconds spent on partial reads; past a threshold, the whole is loaded."""
        return self._spent.get(key) or 0.0


def _size_of(value: Sized) -> int:
    return value.nbytes


@cache
def shared_cache() -> ByteCache:
    """Return the cache of this process; ``OMNIGRAPH_CACHE_BYTES`` sets its budget."""
    given = os.environ.get(BUDGET_VARIABLE, "")
    return ByteCache(int(given) if given.isdigit() else machine_memory_bytes() // _MEMORY_SHARE)
