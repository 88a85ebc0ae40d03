"""Format 1: a branch was one unnumbered ref, ``_refs/branches/<name>.json``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from omnigraph.errors import NotFound
from omnigraph.runtime.json_text import MALFORMED, parse_json
from omnigraph.versioning import layout

if TYPE_CHECKING:
    from omnigraph.ports.objects import ObjectStore

__all__ = ["number_refs", "unnumbered_refs", "with_number"]


def number_refs(objects: ObjectStore) -> None:
    """Make every ref number 1 of its branch."""
    for key, numbered in unnumbered_refs(objects).items():
        try:
            body = objects.get(key)
        except NotFound:
            # Another opener is ahead, and removes an old ref only when every numbered one stands.
            continue
        objects.put_if_absent(numbered, with_number(body))
    # Only when every numbered ref stands may the old ones go.
    for key in unnumbered_refs(objects):
        objects.delete(key)


def unnumbered_refs(objects: ObjectStore) -> dict[str, str]:
    """Find the refs of format 1, each with the key that format 2 gives it."""
    found = {}
    for key in objects.list(layout.BRANCHES):
        name = key.removeprefix(f"{layout.BRANCHES}/")
        if "/" not in name:
            found[key] = layout.branch_ref(name.removesuffix(".json"), 1)
    return found


def with_number(body: bytes) -> bytes:
    """Encode a ref of format 1 as number 1 of its branch."""
    try:
        ref = {"number": 1, "nonce": "", **parse_json(body)}
    except MALFORMED:
        # Damage to one branch must not stop the migration of the others: the readers of the ref
        # report it.
        return body
    return json.dumps(ref, sort_keys=True).encode()
