"""A bounded cache that evicts the least recently used entry.

A read takes no lock: it only stamps the entry. Eviction keeps a heap of entries by an earlier stamp
and pushes an entry back if it was used since, so that the order is exact and an eviction costs
O(log n) amortised over the reads.
"""

from __future__ import annotations

import itertools
import threading
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

__all__ = ["LruCache"]

K = TypeVar("K", bound="Hashable")
V = TypeVar("V")

# Heap items of removed entries are dropped when their number exceeds that of the entries by this.
_STALE_MAX = 64


class _Entry:
    __slots__ = ("key", "last_use", "size", "value")

    def __init__(self, key: Any, value: Any, size: int, last_use: int) -> None:
        self.key = key
        self.value = value
        self.size = size
        self.last_use = last_use


class LruCache(Generic[K, V]):
    """Values by key, bounded by their number, by their bytes, or both. Thread-safe.

    ``size_of`` returns the bytes of a value. A value is never None. A value that alone exceeds
    ``max_bytes`` is not kept.
    """

    def __init__(
        self,
        max_entries: int | None = None,
        *,
        max_bytes: int | None = None,
        size_of: Callable[[V], int] | None = None,
    ) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._size_of = size_of
        self._lock = threading.Lock()
        self._entries: dict[K, _Entry] = {}
        self._heap: list[tuple[int, _Entry]] = []
        self._next_use = itertools.count().__next__
        self._used_bytes = 0
        self._evictions = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    @property
    def max_bytes(self) -> int | None:
        return self._max_bytes

    @property
    def used_bytes(self) -> int:
        return self._used_bytes

    @property
    def evictions(self) -> int:
        return self._evictions

    def get(self, key: K) -> V | None:
        """Return a value and mark it as used; None if it is missing."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        entry.last_use = self._next_use()
        value: V = entry.value
        return value

    def put(self, key: K, value: V) -> V:
        """Keep a value as the most recently used one, and return it."""
        with self._lock:
            self._put(key, value)
        return value

    def get_or_make(self, key: K, make: Callable[[], V]) -> V:
        """Return a value, and make it if it is missing; concurrent callers may make it twice."""
        found = self.get(key)
        return self.put(key, make()) if found is None else found

    def resize_entry(self, key: K, value: V) -> None:
        """Measure a value again, if it is still the value of the key."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None and entry.value is value:
                self._put(key, value)

    def pop(self, key: K) -> V | None:
        """Remove a value and return it; None if it is missing."""
        with self._lock:
            entry = self._entries.get(key)
            # Removing an entry releases its value.
            value: V | None = None if entry is None else entry.value
            self._remove(key)
            return value

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._entries.clear()
            self._heap.clear()
            self._used_bytes = 0

    def resize(self, max_bytes: int) -> None:
        """Set the bound of bytes, and evict what exceeds it."""
        with self._lock:
            self._max_bytes = max_bytes
            self._evict()

    def _put(self, key: K, value: V) -> None:
        self._remove(key)
        size = 0 if self._size_of is None else self._size_of(value)
        if self._max_bytes is not None and size > self._max_bytes:
            return
        entry = _Entry(key, value, size, self._next_use())
        self._entries[key] = entry
        heappush(self._heap, (entry.last_use, entry))
        self._used_bytes += size
        self._evict()

    def _remove(self, key: K) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._used_bytes -= entry.size
            # The heap has the entry for a while; a concurrent read finds nothing.
            entry.value = None
            if len(self._heap) > 2 * len(self._entries) + _STALE_MAX:
                # A sorted list is a heap. Stamps are unique, so entries are never compared.
                kept = list(self._entries.values())
                self._heap = sorted((each.last_use, each) for each in kept)

    def _evict(self) -> None:
        while self._entries and self._is_full():
            stamp, entry = heappop(self._heap)
            if self._entries.get(entry.key) is not entry:
                continue
            if entry.last_use != stamp:
                heappush(self._heap, (entry.last_use, entry))
                continue
            del self._entries[entry.key]
            self._used_bytes -= entry.size
            self._evictions += 1

    def _is_full(self) -> bool:
        if self._max_entries is not None and len(self._entries) > self._max_entries:
            return True
        return self._max_bytes is not None and self._used_bytes > self._max_bytes
