"""Commits: identity, parents, kind, counts, and their JSON form."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import Any

from omnigraph.errors import InvalidInput
from omnigraph.frozen import frozen
from omnigraph.runtime.clock import format_micros
from omnigraph.runtime.ids import CommitId, is_ulid
from omnigraph.runtime.json_values import to_json_value

__all__ = [
    "Commit",
    "CommitRef",
    "Counts",
    "WriterKind",
    "commit_id_of",
    "commit_to_json",
    "landed_to_json",
]


class WriterKind(StrEnum):
    """The kind of operation that made a commit."""

    INIT = "init"
    MUTATION = "mutation"
    LOAD = "load"
    MERGE = "merge"
    REVERT = "revert"
    CHERRY_PICK = "cherry_pick"
    RESET = "reset"
    SCHEMA = "schema_apply"
    MAINTENANCE = "maintenance"
    RECOVERY = "recovery"
    BRANCH_DELETE = "branch_delete"

    @property
    def is_physical(self) -> bool:
        """Whether commits of this kind move files and change no entities."""
        return self in _PHYSICAL

    @property
    def is_maintenance(self) -> bool:
        """Whether commits of this kind leave every entity and definition unchanged.

        ``if_commit`` ignores such commits, and ``log`` hides them.
        """
        return self in _MAINTENANCE

    @classmethod
    def _missing_(cls, value: object) -> WriterKind | None:
        return cls.MAINTENANCE if value in _EARLIER_MAINTENANCE else None


_MAINTENANCE = frozenset({WriterKind.MAINTENANCE, WriterKind.RECOVERY})


_PHYSICAL = _MAINTENANCE | {WriterKind.BRANCH_DELETE}


# Stored by earlier versions, which had one kind per step of maintenance.
_EARLIER_MAINTENANCE = frozenset({"index", "optimize"})


@frozen
class CommitRef:
    """A commit and the location of its manifest: branch incarnation and manifest version."""

    id: CommitId
    incarnation: str
    version: int


@frozen
class Counts:
    """How many entities a commit changed."""

    nodes_inserted: int = 0
    nodes_updated: int = 0
    nodes_deleted: int = 0
    edges_inserted: int = 0
    edges_updated: int = 0
    edges_deleted: int = 0

    @property
    def nodes(self) -> int:
        return self.nodes_inserted + self.nodes_updated + self.nodes_deleted

    @property
    def edges(self) -> int:
        return self.edges_inserted + self.edges_updated + self.edges_deleted


@frozen
class Commit:
    """The metadata of a commit.

    ``ref`` is the branch on which it was made: a fork begins with a copy of its fork commit, whose
    ``ref`` remains the parent branch.
    """

    ref: CommitRef
    branch: str
    kind: WriterKind
    time_micros: int
    schema: str
    parent: CommitRef | None = None
    merged_parent: CommitRef | None = None
    actor: str | None = None
    message: str | None = None
    counts: Counts = field(default_factory=Counts)
    idempotency_key: str | None = None
    request_digest: str | None = None
    # Types, and properties as ``type/property``, dropped hard: older commits of the branch need not
    # keep their data.
    hard_drops: tuple[str, ...] = ()

    @property
    def id(self) -> CommitId:
        return self.ref.id

    def __repr__(self) -> str:
        who = f" by {self.actor}" if self.actor else ""
        said = f": {self.message}" if self.message else ""
        return f"<Commit {self.id} {self.kind.value} on {self.branch}{who}{said}>"

    def to_json(self) -> dict[str, Any]:
        """Return the stored form; empty fields are omitted."""
        return {key: value for key, value in to_json_value(self).items() if value not in (None, ())}

    @staticmethod
    def from_json(body: dict[str, Any]) -> Commit:
        return Commit(
            **{
                **body,
                "ref": CommitRef(**body["ref"]),
                "kind": WriterKind(body["kind"]),
                "parent": CommitRef(**body["parent"]) if "parent" in body else None,
                "merged_parent": (
                    CommitRef(**body["merged_parent"]) if "merged_parent" in body else None
                ),
                "counts": Counts(**body["counts"]),
                "hard_drops": tuple(body.get("hard_drops", ())),
            }
        )


def commit_id_of(commit: object) -> CommitId:
    """Return the id of a commit that is given as an id, in either case, or as the commit itself."""
    if isinstance(commit, Commit | CommitRef):
        return commit.id
    if isinstance(commit, str):
        # A malformed id is returned unchanged, so that the error quotes it as written.
        return CommitId(commit.upper() if is_ulid(commit.upper()) else commit)
    raise InvalidInput(
        "commit.bad_id",
        f"a commit id must be a string, not {type(commit).__name__}",
        remedy="pass the id as a string, or the commit itself",
    )


def commit_to_json(commit: Commit) -> dict[str, Any]:
    """Encode a commit; absent fields are left out."""
    body: dict[str, Any] = {
        "graph_commit_id": commit.id,
        "graph_branch": commit.branch,
        "graph_manifest_version": commit.ref.version,
        "parent_commit_id": commit.parent.id if commit.parent else None,
        "merged_parent_commit_id": commit.merged_parent.id if commit.merged_parent else None,
        "actor_id": commit.actor,
        "created_at": commit.time_micros,
        "created_at_text": format_micros(commit.time_micros),
        "message": commit.message,
        "kind": commit.kind.value,
        "schema": commit.schema,
        "affected_nodes": commit.counts.nodes,
        "affected_edges": commit.counts.edges,
        "counts": to_json_value(commit.counts),
        "idempotency_key": commit.idempotency_key,
    }
    return {key: value for key, value in body.items() if value is not None}


def landed_to_json(commit: Commit | None) -> dict[str, Any] | None:
    """Encode the commit of a write; None when the write changed nothing."""
    return None if commit is None else commit_to_json(commit)
