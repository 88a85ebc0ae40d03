"""An object store that counts its requests."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.ports.objects import ObjectStore

__all__ = ["CountingObjects"]


class CountingObjects:
    """Counts requests by verb (GET, PUT, LIST, DELETE, HEAD) as a bucket would bill them.

    A ``put_if_absent`` that fails costs a PUT and a GET, ``delete_prefix`` a LIST and a DELETE per
    key.
    """

    def __init__(self, inner: ObjectStore) -> None:
        self._inner = inner
        self.counts: Counter[str] = Counter()

    def reset(self) -> None:
        self.counts.clear()

    @property
    def uri(self) -> str:
        return self._inner.uri

    def create_root(self) -> None:
        self._inner.create_root()

    def get(self, key: str) -> bytes:
        self.counts["GET"] += 1
        return self._inner.get(key)

    def size(self, key: str) -> int:
        self.counts["HEAD"] += 1
        return self._inner.size(key)

    def exists(self, key: str) -> bool:
        self.counts["HEAD"] += 1
        return self._inner.exists(key)

    def put(self, key: str, body: bytes) -> None:
        self.counts["PUT"] += 1
        self._inner.put(key, body)

    def put_if_absent(self, key: str, body: bytes) -> bool:
        self.counts["PUT"] += 1
        won = self._inner.put_if_absent(key, body)
        if not won:
            self.counts["GET"] += 1
        return won

    def sync(self, key: str) -> None:
        """No request: a bucket is durable when it replies."""
        self._inner.sync(key)

    def delete(self, key: str) -> None:
        self.counts["DELETE"] += 1
        self._inner.delete(key)

    def list(self, prefix: str) -> list[str]:
        self.counts["LIST"] += 1
        return self._inner.list(prefix)

    def remove_temporaries(self, prefixes: Iterable[str], *, before_micros: int) -> int:
        return self._inner.remove_temporaries(prefixes, before_micros=before_micros)

    def delete_prefix(self, prefix: str) -> None:
        self.counts["LIST"] += 1
        for key in self._inner.list(prefix):
            self.delete(key)
