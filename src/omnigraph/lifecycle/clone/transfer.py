"""Concurrent copying of files between stores."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.ports.objects import FileStore, ObjectStore

__all__ = ["Transfer"]

# A bucket serves many requests at once; each buffers a few chunks of a file.
_AT_ONCE = 8


@dataclass
class Transfer:
    """Copies missing files and counts them. Files are immutable: names identify contents."""

    source: FileStore
    target: FileStore
    # Shows small objects of an older graph in this format.
    objects: ObjectStore
    files: int = 0
    bytes: int = 0
    _lock: Lock = field(default_factory=Lock)

    def copy(self, keys: Iterable[str]) -> None:
        """Copy files, in no particular order."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for size in pool.map(self._copy_file, keys):
                self._count(size)

    def put_all(self, keys: Iterable[str]) -> bool:
        """Run ``put_once`` concurrently, to overlap syncs and requests; False if one fails."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return all(pool.map(self.put_once, keys))

    def put_once(self, key: str) -> bool:
        """Copy a small file with a reusable name; False if another file has the name."""
        body = self.objects.get(key)
        if self.target.exists(key):
            return self.target.get(key) == body
        if not self.target.put_if_absent(key, body):
            return False
        self._count(len(body))
        return True

    def _copy_file(self, key: str) -> int:
        return self.target.write_chunks(key, self.source.read_chunks(key))

    def _count(self, size: int) -> None:
        with self._lock:
            self.files += 1
            self.bytes += size
