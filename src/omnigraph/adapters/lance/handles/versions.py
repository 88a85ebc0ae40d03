"""How versions are named on disk, so that one can be probed without opening or listing.

Lance names the manifest of version v ``<2^64 - 1 - v>.manifest`` in 20 digits, so that the newest
sorts first; datasets of old writers say ``<v>.manifest``.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from omnigraph.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.ports.objects import FileStore

__all__ = ["VersionHistory", "VersionNaming", "manifest_name", "parse_manifest_name"]

_LARGEST = 2**64 - 1
_SUFFIX = ".manifest"
_DIGITS = 20
# The transaction of a commit carries the operation id as a property.
_OPERATION_ID = re.compile(rb"[0-9A-HJKMNP-TV-Z]{26}")


class VersionNaming(StrEnum):
    """How a dataset names its manifests; it never changes under a living dataset."""

    INVERTED = "inverted"
    PLAIN = "plain"


def manifest_name(version: int, naming: VersionNaming = VersionNaming.INVERTED) -> str:
    """The file name of a version."""
    if naming is VersionNaming.INVERTED:
        return f"{_LARGEST - version:0{_DIGITS}d}{_SUFFIX}"
    return f"{version}{_SUFFIX}"


def parse_manifest_name(name: str) -> tuple[int, VersionNaming] | None:
    """The version that a file name stands for; None for anything else in the directory."""
    digits = name.removesuffix(_SUFFIX)
    if digits == name or not digits.isdecimal():
        return None
    if len(digits) == _DIGITS:
        return _LARGEST - int(digits), VersionNaming.INVERTED
    return int(digits), VersionNaming.PLAIN


class VersionHistory:
    """Which versions a table has, by the names of its manifests."""

    def __init__(self, objects: FileStore) -> None:
        self._objects = objects
        self._naming: dict[str, VersionNaming] = {}

    def key(self, path: str, version: int) -> str:
        """The key of a version's manifest."""
        return _key(path, version, self._naming.get(path, VersionNaming.INVERTED))

    def has(self, path: str, version: int) -> bool:
        """One probe, once the naming of the table is known."""
        known = self._naming.get(path)
        if known is not None:
            return self._objects.exists(_key(path, version, known))
        return self._probe_unknown(path, version)

    def list(self, path: str) -> list[int]:
        """All versions, ascending. Costs by the length of the history."""
        found = []
        for key in self._objects.list(f"{path}/_versions"):
            parsed = parse_manifest_name(key.rpartition("/")[2])
            if parsed is not None:
                found.append(parsed[0])
                self._naming[path] = parsed[1]
        return sorted(found)

    def begun(self, path: str, version: int) -> Sequence[str]:
        """The keys of the transactions on a version. Lance writes the transaction of a commit on
        version v to ``<v>-<uuid>.txn`` before the version itself."""
        return self._objects.list_starting(f"{path}/_transactions", f"{version}-")

    def unfinished(self, path: str, version: int) -> Sequence[str]:
        """The operation ids of the transactions on a version."""
        return [self._operation_id(key) for key in self.begun(path, version)]

    def _operation_id(self, key: str) -> str:
        """The operation id in a transaction; empty where there is none."""
        try:
            body = self._objects.get(key)
        except NotFound:
            return ""
        found = _OPERATION_ID.search(body)
        return found[0].decode() if found is not None else ""

    def _probe_unknown(self, path: str, version: int) -> bool:
        # A table is mostly probed for the successor of a version that exists.
        for candidate, naming in (
            (version, VersionNaming.INVERTED),
            (version - 1, VersionNaming.INVERTED),
            (version, VersionNaming.PLAIN),
        ):
            if self._objects.exists(_key(path, candidate, naming)):
                self._naming[path] = naming
                return candidate == version
        return False


# Every read asks for the successor of one version, mostly the same as before.
@lru_cache(1_024)
def _key(path: str, version: int, naming: VersionNaming) -> str:
    return f"{path}/_versions/{manifest_name(version, naming)}"
