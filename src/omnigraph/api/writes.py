"""Requests and results of mutations and loads."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from omnigraph.api.commits import Commit, Counts, landed_to_json
from omnigraph.api.names import MAIN
from omnigraph.errors import InvalidInput
from omnigraph.frozen import frozen
from omnigraph.runtime.json_values import to_json_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "LoadRequest",
    "LoadResult",
    "Mode",
    "MutationRequest",
    "MutationResult",
    "Progress",
    "TypeCount",
    "parse_mode",
]


@frozen
class MutationRequest:
    """A mutation: query, parameters, branch, actor and preconditions."""

    text: str
    params: Mapping[str, Any] = field(default_factory=dict)
    name: str | None = None
    branch: str = MAIN
    actor: str | None = None
    message: str | None = None
    if_commit: str | None = None
    idempotency_key: str | None = None
    dry_run: bool = False
    source_name: str = "<query>"


@frozen
class MutationResult:
    """The result of a mutation, or of its validation (``dry_run``); no commit without a change."""

    branch: str
    query_name: str
    counts: Counts
    actor: str | None
    commit: Commit | None
    dry_run: bool = False

    def __repr__(self) -> str:
        what = f"{self.query_name} on {self.branch}{' (dry run)' if self.dry_run else ''}"
        landed = f" as {self.commit.id}" if self.commit else ""
        return (
            f"<MutationResult {what}: {self.affected_nodes} nodes, "
            f"{self.affected_edges} edges{landed}>"
        )

    @property
    def affected_nodes(self) -> int:
        return self.counts.nodes

    @property
    def affected_edges(self) -> int:
        return self.counts.edges

    def to_json(self) -> dict[str, Any]:
        body = {
            "branch": self.branch,
            "query_name": self.query_name,
            "affected_nodes": self.affected_nodes,
            "affected_edges": self.affected_edges,
            "counts": to_json_value(self.counts),
            "actor_id": self.actor,
            "commit": landed_to_json(self.commit),
        }
        return {**body, "dry_run": True} if self.dry_run else body


class Mode(StrEnum):
    """The treatment of records whose id exists."""

    # Strict insert: an existing id is a conflict.
    APPEND = "append"
    # Upsert: the record replaces the stored row, and keeps the values that it does not name.
    MERGE = "merge"
    # Replace: the records are the complete new content of their types.
    OVERWRITE = "overwrite"


def parse_mode(text: str) -> Mode:
    """Return the mode of a name."""
    try:
        return Mode(text)
    except ValueError:
        raise InvalidInput(
            "load.bad_mode",
            f"{text!r} is not a mode",
            remedy=f"one of: {', '.join(Mode)}",
        ) from None


@frozen
class Progress:
    """The number of records and bytes that a load has read."""

    records: int
    bytes: int


@frozen
class LoadRequest:
    """A load: source, branch, mode, actor and preconditions.

    ``source`` is a path or several, an open file, bytes, an iterable of records, a table or a data
    frame, or a mapping from type names to tables and frames.
    """

    source: Any
    mode: Mode
    branch: str = MAIN
    # The target to fork the branch from if it does not exist; without it, the branch must exist.
    from_: str | None = None
    # The only type of the input; records then have no envelope.
    type: str | None = None
    format: str | None = None
    actor: str | None = None
    message: str | None = None
    if_commit: str | None = None
    idempotency_key: str | None = None
    dry_run: bool = False
    progress: Callable[[Progress], None] | None = None


@frozen
class TypeCount:
    """How many entities of a type were loaded."""

    name: str
    entities_loaded: int

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "entities_loaded": self.entities_loaded}


@frozen
class LoadResult:
    """The result of a load, or its validation with ``dry_run``; no commit if nothing changed."""

    branch: str
    mode: Mode
    base_branch: str | None = None
    branch_created: bool = False
    nodes: tuple[TypeCount, ...] = ()
    edges: tuple[TypeCount, ...] = ()
    # Records of mode merge that a later record with the same id replaced.
    superseded: int = 0
    # Deleted entities, including the edges of deleted nodes.
    deleted: int = 0
    actor: str | None = None
    commit: Commit | None = field(default=None)
    dry_run: bool = False

    def __repr__(self) -> str:
        what = f"{self.mode.value} into {self.branch}{' (dry run)' if self.dry_run else ''}"
        landed = f" as {self.commit.id}" if self.commit else ""
        return f"<LoadResult {what}: {self.total_nodes} nodes, {self.total_edges} edges{landed}>"

    @property
    def total_nodes(self) -> int:
        return sum(count.entities_loaded for count in self.nodes)

    @property
    def total_edges(self) -> int:
        return sum(count.entities_loaded for count in self.edges)

    @property
    def total_entities(self) -> int:
        return self.total_nodes + self.total_edges

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "branch": self.branch,
            "base_branch": self.base_branch,
            "branch_created": self.branch_created,
            "mode": self.mode.value,
            "nodes": [count.to_json() for count in self.nodes],
            "edges": [count.to_json() for count in self.edges],
            "total_entities": self.total_entities,
            "superseded": self.superseded,
            "deleted": self.deleted,
            "actor_id": self.actor,
            "commit": landed_to_json(self.commit),
        }
        return {**body, "dry_run": True} if self.dry_run else body
