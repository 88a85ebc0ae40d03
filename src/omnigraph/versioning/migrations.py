"""Raising an older format to this one, step by step.

Each step does its work first and is idempotent, so two openers may run it at once and a killed one
may run it again; the stamp is raised last. Migration runs before any branch is read.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.errors import NotFound, Unsupported
from omnigraph.runtime.faults import reach
from omnigraph.runtime.json_text import MALFORMED, parse_json
from omnigraph.versioning import layout
from omnigraph.versioning.stamp import FORMAT, Stamp, read_stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from omnigraph.ports.objects import ObjectStore

__all__ = ["STEPS", "migrate", "upgraded_view"]


def _number_the_refs(objects: ObjectStore) -> None:
    """1 → 2: ``_refs/branches/<name>.json`` becomes number 1 of its branch."""
    for key, numbered in unnumbered_refs(objects).items():
        try:
            body = objects.get(key)
        except NotFound:
            # Another opener is ahead, and removes an old ref only when every numbered one stands.
            continue
        objects.put_if_absent(numbered, _with_number(body))
    # Only when every numbered ref stands may the old ones go.
    for key in unnumbered_refs(objects):
        objects.delete(key)


STEPS: dict[int, Callable[[ObjectStore], None]] = {1: _number_the_refs}


def migrate(objects: ObjectStore, stamp: Stamp) -> Stamp:
    """Bring a graph to this build's format; the stamp that is returned is the one on disk."""
    while stamp.internal_schema_version < FORMAT:
        STEPS[stamp.internal_schema_version](objects)
        reach("migrate.worked")
        raised = replace(stamp, internal_schema_version=stamp.internal_schema_version + 1)
        # Another opener may be ahead; never lower what it wrote.
        current = read_stamp(objects)
        if current.internal_schema_version < raised.internal_schema_version:
            # Fields that a later build added stay.
            body = parse_json(objects.get(layout.STAMP))
            body["internal_schema_version"] = raised.internal_schema_version
            objects.put(layout.STAMP, json.dumps(body, indent=2, sort_keys=True).encode())
            current = raised
        stamp = current
    return stamp


def unnumbered_refs(objects: ObjectStore) -> dict[str, str]:
    """Format 1's refs, each with the key that format 2 gives it."""
    found = {}
    for key in objects.list(layout.BRANCHES):
        name = key.removeprefix(f"{layout.BRANCHES}/")
        if "/" not in name:
            found[key] = layout.branch_ref(name.removesuffix(".json"), 1)
    return found


def upgraded_view(objects: ObjectStore, stamp: Stamp) -> ObjectStore:
    """Return the view of a read-only open: an older graph as if it were migrated."""
    if stamp.internal_schema_version >= FORMAT:
        return objects
    return _NumberedView(objects)


def _with_number(body: bytes) -> bytes:
    try:
        ref = {"number": 1, "nonce": "", **parse_json(body)}
    except MALFORMED:
        # Damage to one branch must not stop the migration of the others: whoever reads the ref
        # reports it.
        return body
    return json.dumps(ref, sort_keys=True).encode()


class _NumberedView:
    """Shows format 1's refs under the keys of format 2, and refuses to write."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects
        self._old = {new: old for old, new in unnumbered_refs(objects).items()}

    @property
    def uri(self) -> str:
        return self._objects.uri

    def create_root(self) -> None:
        raise self._refusal("creation of the root")

    def size(self, key: str) -> int:
        return len(self.get(key))

    def get(self, key: str) -> bytes:
        old = self._old.get(key)
        if old is not None:
            try:
                return _with_number(self._objects.get(old))
            except NotFound:
                # Somebody has migrated the graph meanwhile: it is where it belongs.
                pass
        return self._objects.get(key)

    def exists(self, key: str) -> bool:
        return key in self._old or self._objects.exists(key)

    def list(self, prefix: str) -> list[str]:
        shown = {new for new in self._old if new.startswith(f"{prefix}/")}
        hidden = set(self._old.values())
        return sorted(shown | (set(self._objects.list(prefix)) - hidden))

    def put(self, key: str, body: bytes) -> None:
        raise self._refusal(f"put of {key} ({len(body)} bytes)")

    def put_if_absent(self, key: str, body: bytes, *, same_as: str | None = None) -> bool:
        del same_as
        raise self._refusal(f"put of {key} ({len(body)} bytes)")

    def delete(self, key: str) -> None:
        raise self._refusal(f"delete of {key}")

    def remove_temporaries(self, prefixes: Iterable[str], *, before_micros: int) -> int:
        del prefixes, before_micros
        raise self._refusal("removal of unfinished writes")

    def delete_prefix(self, prefix: str) -> None:
        raise self._refusal(f"delete of {prefix}")

    def _refusal(self, what: str) -> Unsupported:
        return Unsupported(
            "graph.read_only",
            f"{self.uri} was opened read-only: {what} refused",
            remedy="open it read-write once to migrate it",
        )
