"""Moving files from one store to another, several at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.ports.objects import FileStore

__all__ = ["Transfer"]

# A bucket answers many requests at once; each holds a few pieces of a file in memory.
_AT_ONCE = 8


@dataclass
class Transfer:
    """Copies what the target lacks, and counts it. Files are immutable: their name is enough."""

    source: FileStore
    target: FileStore
    files: int = 0
    bytes: int = 0
    _lock: Lock = field(default_factory=Lock)

    def copy(self, keys: Iterable[str]) -> None:
        """Copy files, in no particular order."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for size in pool.map(self._copy_file, keys):
                self._count(size)

    def put_all(self, keys: Iterable[str]) -> bool:
        """``put_once`` for many, in no particular order: on a disk each waits for its sync, in a
        bucket for several answers. False when another file stands in the place of one."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return all(pool.map(self.put_once, keys))

    def put_once(self, key: str) -> bool:
        """Copy a small file whose name is not unique; False when another one stands there."""
        body = self.source.get(key)
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
