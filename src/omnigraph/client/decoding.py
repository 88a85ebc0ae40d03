"""Decodes response bodies into the result types of ``omnigraph.api``.

Fields that a body lacks are empty, such as the incarnation of a commit, or the schema of a commit
that is only named. Values of changes and conflicts keep their wire form.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from omnigraph.api.commit_listing import CommitPage
from omnigraph.api.commits import Commit, CommitRef, Counts, WriterKind
from omnigraph.api.merges import ResetResult
from omnigraph.api.names import BranchName
from omnigraph.api.queries import ExplainedOperator, Explanation
from omnigraph.api.refs import BranchInfo, BranchRef, DamagedRef, TagRef
from omnigraph.api.results import ReadTarget
from omnigraph.api.status import PendingIntent, Status
from omnigraph.api.writes import LoadResult, Mode, MutationResult, TypeCount
from omnigraph.errors import InvalidInput, StorageFault
from omnigraph.frozen import frozen
from omnigraph.runtime.ids import CommitId, ulid_micros

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "RemoteExplanation",
    "RemoteHead",
    "RemoteOperation",
    "branch_of",
    "commit_of",
    "commits_of",
    "explanation_of",
    "landed_commit",
    "load_of",
    "mutation_of",
    "named_commit",
    "refuse_actor",
    "reset_of",
    "status_of",
    "tag_of",
]


def refuse_actor(actor: str | None) -> None:
    """Refuse an explicit actor: the token determines the actor, and a server ignores any other."""
    if actor is not None:
        raise InvalidInput(
            "client.actor_refused",
            "a server takes the actor from the token",
            remedy="omit the actor, or connect with another token",
        )


# --- commits -----------------------------------------------------------------------------------


def commit_of(body: Mapping[str, Any]) -> Commit:
    """Decode a commit of ``commit_to_json``."""
    return Commit(
        CommitRef(CommitId(body["graph_commit_id"]), "", body.get("graph_manifest_version", 0)),
        body.get("graph_branch", ""),
        WriterKind(body["kind"]),
        body["created_at"],
        body.get("schema", ""),
        _ref(body.get("parent_commit_id")),
        _ref(body.get("merged_parent_commit_id")),
        body.get("actor_id"),
        body.get("message"),
        Counts(**body["counts"]),
        body.get("idempotency_key"),
    )


def commits_of(body: Mapping[str, Any]) -> CommitPage:
    return CommitPage(tuple(map(commit_of, body["commits"])), body.get("next_page_token"))


def landed_commit(body: Mapping[str, Any]) -> Commit | None:
    """Decode the commit of a write result; None when the write changed nothing."""
    commit = body.get("commit")
    return None if commit is None else commit_of(commit)


def named_commit(
    commit_id: str, *, branch: str, kind: WriterKind, actor: str | None = None
) -> Commit:
    """Decode a commit that is represented by its id only; the id contains its time."""
    return Commit(
        CommitRef(CommitId(commit_id), "", 0), branch, kind, ulid_micros(commit_id), "", actor=actor
    )


def _ref(commit_id: str | None) -> CommitRef | None:
    return None if commit_id is None else CommitRef(CommitId(commit_id), "", 0)


# --- writes ------------------------------------------------------------------------------------


def mutation_of(body: Mapping[str, Any]) -> MutationResult:
    return MutationResult(
        body["branch"],
        body["query_name"],
        Counts(**body["counts"]),
        body.get("actor_id"),
        landed_commit(body),
        dry_run=body.get("dry_run", False),
    )


def load_of(body: Mapping[str, Any]) -> LoadResult:
    return LoadResult(
        body["branch"],
        Mode(body["mode"]),
        body.get("base_branch"),
        body["branch_created"],
        _counts(body["nodes"]),
        _counts(body["edges"]),
        body["superseded"],
        body["deleted"],
        body.get("actor_id"),
        landed_commit(body),
        body.get("dry_run", False),
    )


def reset_of(body: Mapping[str, Any]) -> ResetResult:
    return ResetResult(
        body["branch"],
        body["to"],
        named_commit(body["snapshot_commit_id"], branch="", kind=WriterKind.MUTATION),
        landed_commit(body),
        body.get("actor_id"),
    )


def _counts(items: list[dict[str, Any]]) -> tuple[TypeCount, ...]:
    return tuple(TypeCount(item["name"], item["entities_loaded"]) for item in items)


# --- refs --------------------------------------------------------------------------------------


@frozen
class RemoteHead:
    """The head of a branch."""

    commit: Commit
    version: int


def branch_of(name: str, head: Commit) -> BranchInfo:
    ref = BranchRef(BranchName(name), 0, "", open=True, created_at_micros=0)
    return BranchInfo(ref, RemoteHead(head, head.ref.version))


def damage_of(body: Mapping[str, Any]) -> tuple[DamagedRef, ...]:
    """Decode the damaged branches and tags of a listing or of a status."""
    return tuple(
        DamagedRef(
            entry["name"], StorageFault(entry["code"], entry["error"], remedy=entry.get("remedy"))
        )
        for entry in body.get("damaged", ())
    )


def tag_of(body: Mapping[str, Any]) -> TagRef:
    created = body.get("created_at") or 0
    return TagRef(body["name"], body["graph_commit_id"], "", 0, created, body.get("actor_id"))


# --- status, operations and plans --------------------------------------------------------------


def status_of(body: Mapping[str, Any]) -> Status:
    pending = tuple(PendingIntent(**each) for each in body["pending"])
    return Status(**{**body, "pending": pending, "damaged": damage_of(body)})


@frozen
class RemoteOperation:
    """A query, export or write that runs on the server."""

    id: str
    kind: str
    name: str
    target: str
    actor: str | None
    started_at: str

    @staticmethod
    def of(body: Mapping[str, Any]) -> RemoteOperation:
        return RemoteOperation(
            body["id"],
            body["kind"],
            body["name"],
            body["target"],
            body.get("actor_id"),
            body["started_at"],
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "kind": self.kind,
            "name": self.name,
            "target": self.target,
            "actor_id": self.actor,
            "started_at": self.started_at,
        }


@frozen
class RemoteExplanation(Explanation):
    """A plan of the server; the rows of a profile remain there."""

    body: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return dict(self.body)


def explanation_of(body: Mapping[str, Any]) -> RemoteExplanation:
    return RemoteExplanation(
        body["query_name"],
        body["graph_commit_id"],
        ReadTarget(**body["target"]),
        _explained_operator(body["plan"]),
        seconds=body.get("seconds"),
        body=body,
    )


def _explained_operator(body: Mapping[str, Any]) -> ExplainedOperator:
    said = dict(body)
    below = tuple(map(_explained_operator, said.pop("inputs", ())))
    measured = said.pop("measured", None)
    return ExplainedOperator(
        said.pop("operator"),
        said.pop("title"),
        said.pop("estimated_rows"),
        said,
        measured,
        below,
    )
