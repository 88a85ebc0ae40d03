"""Branches and tags on disk.

A branch is a directory of numbered refs. A ref is put once and never rewritten or deleted: the
highest number rules, and deleting a branch adds one more number. So a name that was deleted and
created again can never be mistaken for what it was before.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

from omnigraph.api.names import is_name
from omnigraph.api.refs import BranchRef, DamagedRef, RefList, TagRef
from omnigraph.errors import NotFound, StorageFault
from omnigraph.runtime.ids import new_short_id
from omnigraph.runtime.json_text import MALFORMED, parse_json
from omnigraph.runtime.json_values import to_json_value
from omnigraph.versioning import layout
from omnigraph.versioning.names import decode_name, encode_name

if TYPE_CHECKING:
    from omnigraph.ports.objects import ObjectStore

__all__ = [
    "RefStore",
]


R = TypeVar("R", BranchRef, TagRef)

_TEXTS = ("name", "incarnation", "commit", "nonce")
_OPTIONAL_TEXTS = ("fork_commit", "fork_incarnation", "actor")
_NUMBERS = ("number", "version", "created_at_micros")


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

    def branches(self) -> RefList[BranchRef]:
        """The ruling ref of every name, sorted by name; deleted ones included."""
        ruling: dict[str, str] = {}
        for key in _numbered(self._objects.list(layout.BRANCHES)):
            ruling[_branch_name(key)] = key
        return self._read_all({key: name for name, key in ruling.items()}, BranchRef)

    def incarnations(self) -> list[str]:
        """Every incarnation that a branch ever had, of deleted branches too."""
        refs = self.every_branch().require_complete()
        return list(dict.fromkeys(ref.incarnation for ref in refs))

    def every_branch(self) -> RefList[BranchRef]:
        """Every ref that was ever put, the numbers of a name in order."""
        keys = _numbered(self._objects.list(layout.BRANCHES))
        return self._read_all({key: _branch_name(key) for key in keys}, BranchRef)

    def add_branch(self, ref: BranchRef) -> bool:
        """Put the next numbered ref; False when somebody else took the number."""
        key = layout.branch_ref(encode_name(ref.name), ref.number)
        return self._objects.put_if_absent(key, _encode(ref))

    def tag(self, name: str) -> TagRef | None:
        if not is_name(name):
            return None
        try:
            return self._decode(layout.tag_ref(encode_name(name)), TagRef, name)
        except NotFound:
            return None

    def tags(self) -> RefList[TagRef]:
        """All tags, sorted by name."""
        keys = [key for key in self._objects.list(layout.TAGS) if key.endswith(".json")]
        return self._read_all({key: _tag_name(key) for key in keys}, TagRef)

    def add_tag(self, tag: TagRef) -> bool:
        """False when the name is taken."""
        return self._objects.put_if_absent(layout.tag_ref(encode_name(tag.name)), _encode(tag))

    def remove_tag(self, name: str) -> None:
        self._objects.delete(layout.tag_ref(encode_name(name)))

    def _read_all(self, names: dict[str, str], kind: type[R]) -> RefList[R]:
        """Read the refs of some keys, each with the name that it belongs to."""
        readable, damaged = [], []
        for key, name in names.items():
            try:
                readable.append(self._decode(key, kind, name))
            except NotFound:
                # A tag that was deleted since the listing.
                continue
            except StorageFault as fault:
                if fault.code != "ref.malformed":
                    raise
                damaged.append(DamagedRef(name, fault))
        return RefList(
            sorted(readable, key=lambda ref: ref.name), sorted(damaged, key=lambda ref: ref.name)
        )

    def _read(self, key: str) -> BranchRef:
        return self._decode(key, BranchRef, _branch_name(key))

    def _decode(self, key: str, kind: type[R], name: str) -> R:
        text = self._objects.get(key)
        try:
            body = parse_json(text)
            _require_types(body)
            ref = kind(**body)
        except MALFORMED as error:
            raise _malformed(key, f"cannot be read: {error}") from error
        if ref.name != name:
            raise _malformed(key, f"names {ref.name!r:.100} instead of {name!r}")
        return ref


def _numbered(keys: list[str]) -> list[str]:
    """The numbered refs among some keys. Passed over are what a migration removed and a power cut
    brought back, for every format 1 ref has a number by then, and what other programs leave in a
    directory: backups, notes, folder settings.
    """
    return [key for key in keys if layout.is_branch_ref(key)]


def _branch_name(key: str) -> str:
    return decode_name(key.split("/")[-2])


def _tag_name(key: str) -> str:
    return decode_name(key.rpartition("/")[2].removesuffix(".json"))


def _require_types(body: dict[str, Any]) -> None:
    """Every field has the type that it was written with."""
    for fields, types in (
        (_TEXTS, str),
        (_OPTIONAL_TEXTS, (str, type(None))),
        (_NUMBERS, int),
        (("open",), bool),
    ):
        for name in fields:
            if name in body and not isinstance(body[name], types):
                raise TypeError(f"{name} is {body[name]!r:.100}")


def _malformed(key: str, problem: str) -> StorageFault:
    return StorageFault(
        "ref.malformed",
        f"{key} {problem}",
        details={"key": key},
        remedy=f"bring {key} back from a copy of the graph; other branches and tags are unaffected",
    )


def new_nonce() -> str:
    return new_short_id()


def _encode(ref: BranchRef | TagRef) -> bytes:
    return json.dumps(to_json_value(ref), sort_keys=True).encode()
