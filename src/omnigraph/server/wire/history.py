"""Bodies of branches, tags, commits and changes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, field

from omnigraph.server.wire.base import (
    BranchName,
    CommitId,
    CommitOutput,
    Details,
    EntityKind,
    Op,
    SchemaOp,
    WireInput,
    WireOutput,
)

__all__ = [
    "BaselineInput",
    "BranchCreateInput",
    "BranchCreateOutput",
    "BranchDeleteOutput",
    "BranchDeleteQuery",
    "BranchMergeInput",
    "BranchMergeOutput",
    "BranchResetInput",
    "BranchResetOutput",
    "BranchesOutput",
    "ChangeBlockOutput",
    "ChangeFeedOutput",
    "CommitChangesOutput",
    "CommitChangesQuery",
    "CommitOutput",
    "CommitsOutput",
    "CommitsQuery",
    "DiffOutput",
    "DiffQuery",
    "EntityHistoryOutput",
    "FeedQuery",
    "HistoryQuery",
    "PickInput",
    "PickOutput",
    "TagCreateInput",
    "TagCreateOutput",
    "TagDeleteOutput",
    "TagOutput",
    "TagsOutput",
]

Strategy = Literal["ours", "theirs"]
PageLimit = Annotated[int, Meta(ge=1, le=10_000)]


# --- branches ----------------------------------------------------------------------------------


class BranchesOutput(WireOutput):
    branches: list[str]
    heads: dict[str, CommitId]
    damaged: list[dict[str, Any]] | None = None


class BranchCreateInput(WireInput):
    name: BranchName
    source: str | None = field(name="from", default=None)


class BranchCreateOutput(WireOutput):
    uri: str
    source: str = field(name="from")
    name: str
    graph_commit_id: CommitId
    actor_id: str | None = None


class BranchDeleteQuery(WireInput):
    force: bool = False


class BranchDeleteOutput(WireOutput):
    uri: str
    name: str
    actor_id: str | None = None


class Resolution(WireInput):
    """The resolution of one conflict of a preview."""

    conflict_id: str
    take: Any


class BranchMergeInput(WireInput):
    source: BranchName
    target: BranchName | None = None
    preview: bool = False
    strategy: Strategy | None = None
    resolutions: list[Resolution] | None = None
    delete_branch: bool = False
    message: str | None = None
    if_commit: CommitId | None = None


class BranchMergeOutput(WireOutput):
    source: str
    target: str
    outcome: Literal["already_up_to_date", "fast_forward", "merged"]
    summary: list[Details]
    base_commit_id: CommitId | None = None
    commit: CommitOutput | None = None
    actor_id: str | None = None
    branch_deleted: bool | None = None
    branch_delete_error: str | None = None
    preview: bool = False
    conflicts: list[Details] | None = None


class BranchResetInput(WireInput):
    to: str
    message: str | None = None
    if_commit: CommitId | None = None


class BranchResetOutput(WireOutput):
    branch: str
    to: str
    snapshot_commit_id: CommitId
    commit: CommitOutput | None = None
    actor_id: str | None = None


class PickInput(WireInput):
    """A commit to revert or to cherry-pick, and the target branch."""

    commit: CommitId
    branch: BranchName | None = None
    preview: bool = False
    strategy: Strategy | None = None
    resolutions: list[Resolution] | None = None
    message: str | None = None
    if_commit: CommitId | None = None


class PickOutput(WireOutput):
    branch: str
    picked_commit_id: CommitId
    summary: list[Details]
    commit: CommitOutput | None = None
    actor_id: str | None = None
    preview: bool = False
    conflicts: list[Details] | None = None


# --- tags --------------------------------------------------------------------------------------


class TagCreateInput(WireInput):
    name: str
    at: str | None = None


class TagCreateOutput(WireOutput):
    uri: str
    name: str
    graph_commit_id: CommitId
    actor_id: str | None = None


class TagOutput(WireOutput):
    name: str
    graph_commit_id: CommitId
    created_at: int
    actor_id: str | None = None


class TagsOutput(WireOutput):
    tags: list[TagOutput]
    damaged: list[dict[str, Any]] | None = None


class TagDeleteOutput(WireOutput):
    uri: str
    name: str


# --- commits -----------------------------------------------------------------------------------


class CommitsQuery(WireInput):
    branch: str | None = None
    snapshot: str | None = None
    actor: str | None = None
    kind: str | None = None
    since: str | None = None
    until: str | None = None
    limit: PageLimit | None = None
    page_token: str | None = None
    hide_maintenance: bool = False


class CommitsOutput(WireOutput):
    commits: list[CommitOutput]
    next_page_token: str | None = None


# --- changes -----------------------------------------------------------------------------------


class CommitChangesQuery(WireInput):
    page_token: str | None = None
    limit: int | None = None
    kind: list[str] = field(default_factory=list)
    type: list[str] = field(default_factory=list)
    op: list[str] = field(default_factory=list)


class FeedQuery(CommitChangesQuery):
    branch: str | None = None
    cursor: str | None = None
    start: str | None = None


class DiffQuery(WireInput):
    before: str = field(name="from")
    after: str = field(name="to")
    kind: list[str] = field(default_factory=list)
    type: list[str] = field(default_factory=list)
    op: list[str] = field(default_factory=list)
    summary: bool = False


class HistoryQuery(WireInput):
    branch: str | None = None
    snapshot: str | None = None
    limit: PageLimit | None = None


class BaselineInput(WireInput):
    branch: BranchName | None = None
    kind: list[EntityKind] = field(default_factory=list)
    type: list[str] = field(default_factory=list)
    op: list[Op] = field(default_factory=list)


class TypeName(WireOutput):
    id: str
    name: str


class Change(WireOutput):
    kind: EntityKind
    type: TypeName
    id: str
    op: Op
    before: Details | None = None
    after: Details | None = None
    changed: list[str] | None = None


class Cause(WireOutput):
    graph_commit_id: CommitId
    authored_branch: str
    authored_at: int
    parent_commit_id: CommitId | None = None
    merged_parent_commit_id: CommitId | None = None
    actor_id: str | None = None


class SchemaChange(WireOutput):
    """A type or a property that a commit created, renamed or dropped, with its name after the
    commit.
    """

    op: SchemaOp
    kind: EntityKind
    type: TypeName
    property: TypeName | None = None
    previous_name: str | None = None
    properties: list[TypeName] | None = None


class ChangeBlockOutput(WireOutput):
    cause: Cause
    changes: list[Change]
    schema_changes: list[SchemaChange] | None = None


class CommitChangesOutput(ChangeBlockOutput):
    next_page_token: str | None = None


class ChangeFeedOutput(WireOutput):
    """A page of a feed: it has a cursor, or a token for the rest of its last commit."""

    blocks: list[ChangeBlockOutput]
    cursor: str | None = None
    caught_up: bool | None = None
    next_page_token: str | None = None


class DiffSide(WireOutput):
    target: str
    graph_commit_id: CommitId


class DiffOutput(WireOutput):
    before: DiffSide = field(name="from")
    after: DiffSide = field(name="to")
    summary: list[Details]
    changes: list[Change] | None = None


class EntityEntry(WireOutput):
    cause: Cause
    change: Change


class EntityHistoryOutput(WireOutput):
    type: str
    id: str
    history: list[EntityEntry]
    reaches_back_to: CommitId | None = None
    more: bool = False
