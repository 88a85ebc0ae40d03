"""The target of a clone: empty, an unfinished copy of the same graph, or a finished one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from omnigraph.errors import AlreadyExists, InvalidInput, NotFound
from omnigraph.versioning import layout
from omnigraph.versioning.stamp import read_stamp

if TYPE_CHECKING:
    from omnigraph.ports.objects import ObjectStore

__all__ = ["begin_copy", "end_copy", "require_disjoint"]

_FORMAT = 1


def require_disjoint(source: str, target: str) -> None:
    """Require two addresses of which neither contains the other."""
    ends = (f"{source.rstrip('/')}/", f"{target.rstrip('/')}/")
    if ends[0].startswith(ends[1]) or ends[1].startswith(ends[0]):
        raise InvalidInput(
            "clone.same_place",
            f"{target} cannot contain a copy of {source}",
            remedy="choose an address outside the graph",
        )


def begin_copy(target: ObjectStore, graph_id: str, *, incremental: bool) -> None:
    """Claim the target for this graph, or raise and leave it unchanged."""
    if target.exists(layout.STAMP):
        _require_copy(target, graph_id, incremental=incremental)
        return
    marker = _marker(graph_id)
    if not target.exists(layout.CLONE_MARKER):
        _require_empty(target)
        target.create_root()
    if not target.put_if_absent(layout.CLONE_MARKER, marker):
        raise _other_graph(target)


def end_copy(target: ObjectStore) -> None:
    target.delete(layout.CLONE_MARKER)


def _require_copy(target: ObjectStore, graph_id: str, *, incremental: bool) -> None:
    if read_stamp(target).graph_id != graph_id:
        raise _other_graph(target)
    if not incremental:
        raise AlreadyExists(
            "graph.exists",
            f"{target.uri} already contains a copy of the graph",
            remedy="add --incremental to bring it up to date, or choose another address",
        )


def _require_empty(target: ObjectStore) -> None:
    for prefix in (layout.INIT_CLAIMS, *layout.OWNED_PREFIXES):
        try:
            found = target.list(prefix)
        except NotFound:
            continue
        if found:
            raise AlreadyExists(
                "clone.not_empty",
                f"{target.uri} is not empty: {found[0]}",
                remedy="choose an empty address",
            )


def _other_graph(target: ObjectStore) -> AlreadyExists:
    return AlreadyExists(
        "clone.other_graph",
        f"{target.uri} belongs to another graph",
        remedy="choose another address",
    )


def _marker(graph_id: str) -> bytes:
    return json.dumps({"format": _FORMAT, "graph_id": graph_id}, sort_keys=True).encode()
