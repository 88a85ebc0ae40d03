"""Claims: the exclusive right to create a graph at a place.

Claims are numbered and the highest one rules. A claim is put if absent, so one of many racers wins.
Taking over from a dead creator means putting the next number, so two processes cannot both clean up
the same remains. Claims are removed after the stamp is written; a holder therefore checks for the
stamp again before it changes anything.
"""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from omnigraph.coordination.owner import Owner, current_owner
from omnigraph.errors import AlreadyExists, GraphError, NotFound
from omnigraph.runtime.json_text import MALFORMED, parse_json
from omnigraph.versioning import layout
from omnigraph.versioning.stamp import FORMAT, require_not_deleted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.ports.objects import ObjectStore

__all__ = ["claimed"]


@contextmanager
def claimed(objects: ObjectStore, *, force: bool) -> Iterator[None]:
    """Hold the claim to a place while the block runs.

    ``force`` takes over from a creator that did not finish, and removes its remains.
    """
    _require_vacant(objects)
    ruling = objects.list(layout.INIT_CLAIMS)
    if ruling:
        _require_abandoned(objects, ruling[-1], force=force)
    mine = _put_claim(objects, ruling)
    try:
        if ruling:
            _sweep_away(objects)
        yield
    except BaseException:
        # The process lives on: without this mark its claim could not be taken over.
        with suppress(GraphError):
            objects.put(mine, _body(None))
        raise
    with suppress(GraphError):
        # The graph exists, so a remaining claim has no effect.
        objects.delete_prefix(layout.INIT_CLAIMS)


def _require_vacant(objects: ObjectStore) -> None:
    require_not_deleted(objects)
    if objects.exists(layout.STAMP):
        raise AlreadyExists(
            "graph.exists",
            f"there is a graph at {objects.uri} already",
            remedy="choose another place, or open it",
        )


def _require_bare(objects: ObjectStore) -> None:
    if objects.exists(layout.CLONE_MARKER):
        raise AlreadyExists(
            "graph.half_cloned",
            f"{objects.uri} holds a copy of a graph that is not finished",
            remedy="finish it with `omnigraph clone`, or choose another place",
        )
    if objects.list(layout.BRANCHES):
        raise AlreadyExists(
            "graph.remains",
            f"{objects.uri} holds branches of a graph that has lost its {layout.STAMP}",
            remedy="bring that object back, or choose another place",
        )


def _require_abandoned(objects: ObjectStore, claim: str, *, force: bool) -> None:
    owner = _owner(objects, claim)
    if owner is not None and owner.is_here() and not owner.is_gone():
        raise _being_made(objects, f"process {owner.pid}")
    if not force:
        raise AlreadyExists(
            "graph.half_made",
            f"{objects.uri} holds a graph whose creation has not finished",
            remedy="if no other process is creating it, run `omnigraph init --force`",
        )


def _put_claim(objects: ObjectStore, ruling: list[str]) -> str:
    key = layout.init_claim(layout.init_number(ruling[-1]) + 1 if ruling else 1)
    if not objects.put_if_absent(key, _body(current_owner())):
        raise _being_made(objects, "another process")
    try:
        # A creator that finished meanwhile has removed its claims, not its stamp.
        _require_vacant(objects)
        if not ruling:
            _require_bare(objects)
    except AlreadyExists:
        objects.delete(key)
        raise
    return key


def _sweep_away(objects: ObjectStore) -> None:
    for prefix in layout.OWNED_PREFIXES:
        objects.delete_prefix(prefix)


def _owner(objects: ObjectStore, claim: str) -> Owner | None:
    """Return the owner that a claim names; None when it has given up."""
    try:
        body = parse_json(objects.get(claim))["owner"]
        return Owner.from_json(body) if body else None
    except (NotFound, *MALFORMED):
        return None


def _body(owner: Owner | None) -> bytes:
    return json.dumps({"format": FORMAT, "owner": owner.to_json() if owner else None}).encode()


def _being_made(objects: ObjectStore, by: str) -> AlreadyExists:
    return AlreadyExists("graph.being_made", f"{by} is creating a graph at {objects.uri}")
