"""Durability of versions: Lance itself never syncs.

Order: data and deletion files, their directories, then the manifest, then its directory, then the
directories above that were never synced. Transaction files are left out: the manifest carries the
transaction, and Lance reads it from there (tests/substrate tears one to prove it).
"""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from omnigraph.adapters.disk import sync_directory, sync_file
from omnigraph.errors import StorageFault

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["NoSync", "TableSync"]

_MANIFESTS = "/_versions/"
# An evicted file costs one more sync, an entry a hundred bytes.
_REMEMBERED_MAX = 100_000


class TableSync:
    """Syncs below one local root, each file once."""

    def __init__(self, root: str) -> None:
        self._root = Path(root)
        self._lock = Lock()
        # Directories whose own names are known to be durable.
        self._anchored: set[Path] = {self._root}
        # Durable files: their names are never used again, unlike those of manifests.
        self._files: set[str] = set()

    def files(self, keys: Iterable[str]) -> None:
        """Sync files, then the directories that name them."""
        wanted = [key for key in dict.fromkeys(keys) if key not in self._files]
        paths = [self._root / key for key in wanted]
        try:
            for path in paths:
                sync_file(path)
            for directory in dict.fromkeys(path.parent for path in paths):
                sync_directory(directory)
                self._anchor(directory)
        except OSError as error:
            raise StorageFault(
                "storage.sync_failed",
                f"cannot sync {error.filename or self._root}: {error.strerror}",
                remedy="The write is not acknowledged; check the disk before writing again.",
            ) from error
        with self._lock:
            if len(self._files) > _REMEMBERED_MAX:
                self._files.clear()
            self._files.update(key for key in wanted if _MANIFESTS not in key)

    def _anchor(self, directory: Path) -> None:
        """Make the names of the directories above durable, once per process."""
        while directory not in self._anchored and directory != directory.parent:
            sync_directory(directory.parent)
            with self._lock:
                self._anchored.add(directory)
            directory = directory.parent


class NoSync:
    """Where nothing needs syncing: object stores, and graphs that accept losing power."""

    def files(self, keys: Iterable[str]) -> None:
        """Nothing to do."""
