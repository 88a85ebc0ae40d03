"""Branches and tags on disk.

A branch is a directory of numbered refs. A ref is put once and never rewritten or deleted: the
highest number rules, and deleting a branch adds one more number. So a name that was deleted and
created again can never be mistaken for what it was before.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeVar

from omnigraph.errors import NotFound, StorageFault
from omnigraph.frozen import frozen
from omnigraph.runtime.ids import CommitId, new_short_id
from omnigraph.runtime.plain import plain
from omnigraph.versioning import layout
from omnigraph.versioning.names import BranchName, decode_name, encode_name, is_name

if TYPE_CHECKING:
    from omnigraph.ports.objects import ObjectStore

__all__ = ["BranchRef", "RefStore", "TagRef"]


@frozen
class BranchRef:
    """One numbered ref: an open branch, or the fact that it was deleted."""

    name: BranchName
    number: int
    incarnation: str
    open: bool
    created_at_micros: int
    # Where the branch began; None for main.
    fork_commit: CommitId | None = None
    fork_incarnation: str | None = None
    # Tells a lost race from a lost reply.
    nonce: str = ""


@frozen
class TagRef:
    """A name for a commit, for ever."""

    name: str
    commit: CommitId
    incarnation: str
    version: int
    created_at_micros: int
    actor: str | None = None
    nonce: str = ""


R = TypeVar("R", BranchRef, TagRef)


class RefStore:
    """Reads and adds refs; knows nothing of what they point to."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    def branch(self, name: str) -> BranchRef | None:
        """The ruling ref of a name, open or not; None when the name was never used."""
        if not is_name(name):
            return None
        keys = _numbered(self._objects.list(layout.branch_refs(encode_name(name))))
        return self._read(keys[-1]) if keys else None

    def branches(self) -> list[BranchRef]:
        """The ruling ref of every name, sorted by name; deleted ones included."""
        ruling: dict[str, str] = {}
        for key in _numbered(self._objects.list(layout.BRANCHES)):
            ruling[key.rsplit("/", 1)[0]] = key
        return sorted((self._read(key) for key in ruling.values()), key=lambda ref: ref.name)

    def incarnations(self) -> list[str]:
        """Every incarnation that a branch ever had, of deleted branches too."""
        return list(dict.fromkeys(ref.incarnation for ref in self.every_branch()))

    def every_branch(self) -> list[BranchRef]:
        """Every ref that was ever put, the numbers of a name in order."""
        return [self._read(key) for key in _numbered(self._objects.list(layout.BRANCHES))]

    def add_branch(self, ref: BranchRef) -> bool:
        """Put the next numbered ref; False when somebody else took the number."""
        key = layout.branch_ref(encode_name(ref.name), ref.number)
        return self._objects.put_if_absent(key, _encode(ref))

    def tag(self, name: str) -> TagRef | None:
        if not is_name(name):
            return None
        try:
            return self._decode(layout.tag_ref(encode_name(name)), TagRef)
        except NotFound:
            return None

    def tags(self) -> list[TagRef]:
        keys = (key for key in self._objects.list(layout.TAGS) if key.endswith(".json"))
        return sorted((self._decode(key, TagRef) for key in keys), key=lambda tag: tag.name)

    def add_tag(self, tag: TagRef) -> bool:
        """False when the name is taken."""
        return self._objects.put_if_absent(layout.tag_ref(encode_name(tag.name)), _encode(tag))

    def remove_tag(self, name: str) -> None:
        self._objects.delete(layout.tag_ref(encode_name(name)))

    def _read(self, key: str) -> BranchRef:
        ref = self._decode(key, BranchRef)
        if ref.name != decode_name(key.split("/")[-2]):
            raise StorageFault("ref.malformed", f"{key} names another branch: {ref.name}")
        return ref

    def _decode(self, key: str, kind: type[R]) -> R:
        try:
            return kind(**json.loads(self._objects.get(key)))
        except (ValueError, TypeError) as error:
            raise StorageFault("ref.malformed", f"{key} cannot be read: {error}") from error


def _numbered(keys: list[str]) -> list[str]:
    """The numbered refs among some keys. Passed over are what a migration removed and a power cut
    brought back, for every format 1 ref has a number by then, and what other programs leave in a
    directory: backups, notes, folder settings.
    """
    return [key for key in keys if layout.is_branch_ref(key)]


def new_nonce() -> str:
    return new_short_id()


def _encode(ref: BranchRef | TagRef) -> bytes:
    return json.dumps(plain(ref), sort_keys=True).encode()
