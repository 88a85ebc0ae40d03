"""Opened datasets: one session for all, and the most recently used pins kept open."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

from omnigraph.adapters.lance.handles.failures import (
    LANCE_ERRORS,
    is_newer_format,
    newer_format,
    panics_as_errors,
    table_missing,
    table_torn,
    version_missing,
)
from omnigraph.adapters.lance.handles.fingerprint import fingerprint_of
from omnigraph.adapters.lance.handles.imports import load_lance
from omnigraph.errors import StorageFault
from omnigraph.ports.tables import Pin
from omnigraph.runtime.lru_cache import LruCache

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.adapters.lance.handles.versions import VersionHistory

__all__ = ["HandleCache"]

_CACHED_HANDLES_MAX = 512
_INDEX_CACHE_BYTES = 256 * 2**20
_METADATA_CACHE_BYTES = 128 * 2**20


class HandleCache:
    """Datasets below one root. A handle is immutable and shared between threads."""

    def __init__(
        self, root: str, versions: VersionHistory, storage_options: Mapping[str, str] | None
    ) -> None:
        self._root = root
        self._versions = versions
        self._options = dict(storage_options) if storage_options else None
        self._session: Any = None
        self._lock = Lock()
        # Keyed by identity: a number that was reused can never answer for the old version.
        self._pinned: LruCache[tuple[str, int, str], Any] = LruCache(_CACHED_HANDLES_MAX)

    @property
    def storage_options(self) -> dict[str, str] | None:
        return self._options

    def url(self, path: str) -> str:
        return f"{self._root}/{path}"

    @property
    def session(self) -> Any:
        with self._lock:
            if self._session is None:
                self._session = load_lance().Session(
                    index_cache_size_bytes=_INDEX_CACHE_BYTES,
                    metadata_cache_size_bytes=_METADATA_CACHE_BYTES,
                )
            return self._session

    def at(self, path: str, version: int) -> Any:
        """Open a version, regardless of its creator."""
        try:
            return self._open(path, version)
        except LANCE_ERRORS as error:
            self._require_readable(path, version, error)
        try:
            # It exists: a second attempt distinguishes a torn manifest from a network failure.
            return self._open(path, version)
        except LANCE_ERRORS as error:
            raise table_torn(path, version) from error

    def pinned(self, pin: Pin) -> Any:
        """Open a pin; the fingerprint is checked once."""
        key = (pin.path, pin.version, pin.fingerprint)
        found = self._pinned.get(key)
        if found is not None:
            return found
        dataset = self.at(pin.path, pin.version)
        _require_fingerprint(pin, fingerprint_of(dataset))
        self._pinned.put(key, dataset)
        return dataset

    def pin(
        self, path: str, dataset: Any, fingerprint: str | None = None, *, rows: int | None = None
    ) -> Pin:
        """Return the pin of an opened dataset, which stays open."""
        known = fingerprint or fingerprint_of(dataset)
        self._pinned.put((path, dataset.version, known), dataset)
        return Pin(path, dataset.version, known, dataset.count_rows() if rows is None else rows)

    def _open(self, path: str, version: int) -> Any:
        with panics_as_errors():
            return load_lance().dataset(
                self.url(path), version=version, storage_options=self._options, session=self.session
            )

    def _require_readable(self, path: str, version: int, error: Exception) -> None:
        """Check the file names for presence: Lance reports some torn manifests as not found."""
        if is_newer_format(error):
            raise newer_format(path, version) from error
        if self._versions.has(path, version):
            return
        if self._versions.list(path):
            raise version_missing(path, version) from error
        raise table_missing(path) from error


def _require_fingerprint(pin: Pin, actual: str) -> None:
    if actual != pin.fingerprint:
        raise StorageFault(
            "table.pin_mismatch",
            f"table {pin.path}: version {pin.version} is not the version that was pinned",
            details={
                "table": pin.path,
                "version": pin.version,
                "expected": pin.fingerprint,
                "actual": actual,
            },
            remedy="Its number was reused after a cleanup or a repair; restore a copy.",
        )
