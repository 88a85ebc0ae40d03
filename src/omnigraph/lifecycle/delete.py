"""Deletion of a graph: a tombstone first, then the stamp; no data is removed.

The tombstone is put if absent and contains the stamp, so that ``undelete_graph`` restores the
graph. Both functions are idempotent: after a crash, the same call completes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from omnigraph.errors import NotFound, StorageFault
from omnigraph.runtime.clock import SYSTEM_CLOCK, Clock, format_micros
from omnigraph.runtime.faults import reach
from omnigraph.runtime.json_text import MALFORMED, parse_json
from omnigraph.versioning import layout
from omnigraph.versioning.stamp import read_stamp

if TYPE_CHECKING:
    from omnigraph.ports.objects import ObjectStore

__all__ = ["delete_graph", "read_tombstone", "undelete_graph"]


def delete_graph(
    objects: ObjectStore,
    *,
    actor: str | None = None,
    reason: str | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> dict[str, Any]:
    """Delete a graph and return its tombstone, or the one of an earlier deletion."""
    found = read_tombstone(objects)
    if found is None:
        stamp = read_stamp(objects)
        found = {
            "format": 1,
            "graph_id": stamp.graph_id,
            "deleted_at": format_micros(clock.now_micros()),
            "actor": actor,
            "reason": reason,
            "stamp": stamp.to_bytes().decode(),
        }
        body = json.dumps(found, indent=2).encode()
        if not objects.put_if_absent(layout.DELETED, body):
            found = read_tombstone(objects) or found
    reach("delete.tombstoned")
    objects.delete(layout.STAMP)
    return found


def undelete_graph(objects: ObjectStore) -> dict[str, Any]:
    """Restore a deleted graph and return its tombstone."""
    found = read_tombstone(objects)
    if found is None:
        raise NotFound("graph.not_deleted", f"the graph at {objects.uri} is not deleted")
    objects.put_if_absent(layout.STAMP, str(found["stamp"]).encode())
    objects.delete(layout.DELETED)
    return found


def read_tombstone(objects: ObjectStore) -> dict[str, Any] | None:
    """Return the tombstone at a location, if there is one."""
    try:
        found = parse_json(objects.get(layout.DELETED))
        if not isinstance(found["stamp"], str) or found["format"] != 1:
            raise ValueError("an unknown format")
    except NotFound:
        return None
    except MALFORMED as error:
        raise StorageFault(
            "graph.tombstone_malformed", f"{layout.DELETED} in {objects.uri}: {error}"
        ) from error
    return dict(found)
