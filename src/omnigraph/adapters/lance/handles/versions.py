"""Names of versions on disk, so that a version can be probed without opening or listing.

Versions of a table are *detached*: Lance gives each a random number with the top bit set and names
its manifest ``d<v>.manifest``. The first version of a table and all versions of a log are ordered.
Lance names those ``<2^64 - 1 - v>.manifest`` in 20 digits, so that the newest sorts first; datasets
of old writers have ``<v>.manifest``.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from omnigraph.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from omnigraph.ports.objects import FileStore

__all__ = [
    "VersionHistory",
    "VersionNaming",
    "is_detached",
    "manifest_name",
    "parse_manifest_name",
]

_LARGEST = 2**64 - 1
_DETACHED = 2**63
_SUFFIX = ".manifest"
_DIGITS = 20
# Stores with coarse timestamps round to seconds.
_TIMESTAMP_MICROS = 2_000_000


class VersionNaming(StrEnum):
    """The naming of ordered versions; it never changes for an existing dataset."""

    INVERTED = "inverted"
    PLAIN = "plain"


def is_detached(version: int) -> bool:
    """Return whether a version is outside of the order of its dataset."""
    return version >= _DETACHED


def manifest_name(version: int, naming: VersionNaming = VersionNaming.INVERTED) -> str:
    """Return the file name of a version."""
    if is_detached(version):
        return f"d{version}{_SUFFIX}"
    if naming is VersionNaming.INVERTED:
        return f"{_LARGEST - version:0{_DIGITS}d}{_SUFFIX}"
    return f"{version}{_SUFFIX}"


def parse_manifest_name(name: str) -> tuple[int, VersionNaming] | None:
    """Return the ordered version of a file name; None for any other file."""
    digits = name.removesuffix(_SUFFIX)
    if digits == name or not digits.isdecimal():
        return None
    if len(digits) == _DIGITS:
        return _LARGEST - int(digits), VersionNaming.INVERTED
    return int(digits), VersionNaming.PLAIN


def _parse_detached(name: str) -> int | None:
    digits = name.removesuffix(_SUFFIX).removeprefix("d")
    is_ours = name == f"d{digits}{_SUFFIX}" and digits.isdecimal()
    return int(digits) if is_ours and is_detached(int(digits)) else None


class VersionHistory:
    """The versions of datasets, by the names of their manifests."""

    def __init__(self, objects: FileStore) -> None:
        self._objects = objects
        self._naming: dict[str, VersionNaming] = {}

    def key(self, path: str, version: int) -> str:
        """Return the key of a version's manifest."""
        return _key(path, version, self._naming.get(path, VersionNaming.INVERTED))

    def has(self, path: str, version: int) -> bool:
        """Probe for a version: one request, once the naming of the dataset is known."""
        known = self._naming.get(path)
        if known is not None or is_detached(version):
            return self._objects.exists(_key(path, version, known or VersionNaming.INVERTED))
        return self._probe_unknown(path, version)

    def list(self, path: str) -> list[int]:
        """Return all ordered versions, ascending. Costs by the number of files."""
        found = []
        for name in self._names(path):
            parsed = parse_manifest_name(name)
            if parsed is not None:
                found.append(parsed[0])
                self._naming[path] = parsed[1]
        return sorted(found)

    def committed_by(self, path: str, base: int, operation_id: str) -> Iterator[int]:
        """Find the detached versions that an operation committed on top of a version.

        The transaction file of a commit names its base and is written first, so manifests that are
        older than it need not be read. Costs by the number of files; only recovery needs it.
        """
        needle = operation_id.encode()
        begun = [
            modified
            for key, modified in self._objects.list_modified(f"{path}/_transactions")
            if key.rpartition("/")[2].startswith(f"{base}-") and needle in self._body(key)
        ]
        if not begun:
            return
        for key, modified in self._objects.list_modified(f"{path}/_versions"):
            if modified < min(begun) - _TIMESTAMP_MICROS:
                return
            version = _parse_detached(key.rpartition("/")[2])
            if version is not None and needle in self._body(key):
                yield version

    def _body(self, key: str) -> bytes:
        try:
            return self._objects.get(key)
        except NotFound:
            return b""

    def _names(self, path: str) -> Sequence[str]:
        return [key.rpartition("/")[2] for key in self._objects.list(f"{path}/_versions")]

    def _probe_unknown(self, path: str, version: int) -> bool:
        # A log is mostly probed for the successor of a version that exists.
        for candidate, naming in (
            (version, VersionNaming.INVERTED),
            (version - 1, VersionNaming.INVERTED),
            (version, VersionNaming.PLAIN),
        ):
            if self._objects.exists(_key(path, candidate, naming)):
                self._naming[path] = naming
                return candidate == version
        return False


@lru_cache(1_024)
def _key(path: str, version: int, naming: VersionNaming) -> str:
    return f"{path}/_versions/{manifest_name(version, naming)}"
