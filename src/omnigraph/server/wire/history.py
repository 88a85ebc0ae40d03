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
    Input,
    Op,
    Output,
    SchemaOp,
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


class BranchesOutput(Output):
    branches: list[str]
    heads: dict[str, CommitId]
    damaged: list[dict[str, Any]] | None = None


class BranchCreateInput(Input):
    name: BranchName
    source: str | None = field(name="from", default=None)


class BranchCreateOutput(Output):
    uri: str
    source: str = field(name="from")
    name: str
    graph_commit_id: CommitId
    actor_id: str | None = None


class BranchDeleteQuery(Input):
    force: bool = False


class BranchDeleteOutput(Output):
    uri: str
    name: str
    actor_id: str | None = None


class Resolution(Input):
    """The resolution of one conflict of a preview."""

    conflict_id: str
    take: Any


class BranchMergeInput(Input):
    source: BranchName
    target: BranchName | None = None
    preview: bool = False
    strategy: Strategy | None = None
    resolutions: list[Resolution] | None = None
    delete_branch: bool = False
    message: str | None = None
    if_commit: CommitId | None = None


class BranchMergeOutput(Output):
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


class BranchResetInput(Input):
    to: str
    message: str | None = None
    if_commit: CommitId | None = None


class BranchResetOutput(Output):
    branch: str
    to: str
    snapshot_commit_id: CommitId
    commit: CommitOutput | None = None
    actor_id: str | None = None


class PickInput(Input):
    """A commit to revert or to cherry-pick, and the target branch."""

    commit: CommitId
    branch: BranchName | None = None
    preview: bool = False
    strategy: Strategy | None = None
    resolutions: list[Resolution] | None = None
    message: str | None = None
    if_commit: CommitId | None = None


class PickOutput(Output):
    branch: str
    picked_commit_id: CommitId
    summary: list[Details]
    commit: CommitOutput | None = None
    actor_id: str | None = None
    preview: bool = False
    conflicts: list[Details] | None = None


# --- tags --------------------------------------------------------------------------------------


class TagCreateInput(Input):
    name: str
    at: str | None = None


class TagCreateOutput(Output):
    uri: str
    name: str
    graph_commit_id: CommitId
    actor_id: str | None = None


class TagOutput(Output):
    name: str
    graph_commit_id: CommitId
    created_at: int
    actor_id: str | None = None


class TagsOutput(Output):
    tags: list[TagOutput]
    damaged: list[dict[str, Any]] | None = None


class TagDeleteOutput(Output):
    uri: str
    name: str


# --- commits -----------------------------------------------------------------------------------


class CommitsQuery(Input):
    branch: str | None = None
    snapshot: str | None = None
    actor: str | None = None
    kind: str | None = None
    since: str | None = None
    until: str | None = None
    limit: PageLimit | None = None
    page_token: str | None = None
    hide_maintenance: bool = False


class CommitsOutput(Output):
    commits: list[CommitOutput]
    next_page_token: str | None = None


# --- changes -----------------------------------------------------------------------------------


class CommitChangesQuery(Input):
    page_token: str | None = None
    limit: int | None = None
    kind: list[str] = field(default_factory=list)
    type: list[str] = field(default_factory=list)
    op: list[str] = field(default_factory=list)


class FeedQuery(CommitChangesQuery):
    branch: str | None = None
    cursor: str | None = None
    start: str | None = None


class DiffQuery(Input):
    before: str = field(name="from")
    after: str = field(name="to")
    kind: list[str] = field(default_factory=list)
    type: list[str] = field(default_factory=list)
    op: list[str] = field(default_factory=list)
    summary: bool = False


class HistoryQuery(Input):
    branch: str | None = None
    snapshot: str | None = None
    limit: PageLimit | None = None


class BaselineInput(Input):
    branch: BranchName | None = None
    kind: list[EntityKind] = field(default_factory=list)
    type: list[str] = field(default_factory=list)
    op: list[Op] = field(default_factory=list)


class TypeName(Output):
    id: str
    name: str


class Change(Output):
    kind: EntityKind
    type: TypeName
    id: str
    op: Op
    before: Details | None = None
    after: Details | None = None
    changed: list[str] | None = None


class Cause(Output):
    graph_commit_id: CommitId
    authored_branch: str
    authored_at: int
    parent_commit_id: CommitId | None = None
    merged_parent_commit_id: CommitId | None = None
    actor_id: str | None = None


class SchemaChange(Output):
    """A type or a property that a commit created, renamed or dropped, with its name after the
    commit.
    """

    op: SchemaOp
    kind: EntityKind
    type: TypeName
    property: TypeName | None = None
    previous_name: str | None = None
    properties: list[TypeName] | None = None


class ChangeBlockOutput(Output):
    cause: Cause
    changes: list[Change]
    schema_changes: list[SchemaChange] | None = None


class CommitChangesOutput(ChangeBlockOutput):
    next_page_token: str | None = None


class ChangeFeedOutput(Output):
    """A page of a feed: it has a cursor, or a token for the rest of its last commit."""

    blocks: list[ChangeBlockOutput]
    cursor: str | None = None
    caught_up: bool | None = None
    next_page_token: str | None = None


class DiffSide(Output):
    target: str
    graph_commit_id: CommitId


class DiffOutput(Output):
    before: DiffSide = field(name="from")
    after: DiffSide = field(name="to")
    summary: list[Details]
    changes: list[Change] | None = None


class EntityEntry(Output):
    cause: Cause
    change: Change


class EntityHistoryOutput(Output):
    type: str
    id: str
    history: list[EntityEntry]
    reaches_back_to: CommitId | None = None
    more: bool = False
