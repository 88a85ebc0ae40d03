"""Bodies of loads, exports, blobs and schema changes."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import field

from omnigraph.server.wire.base import BranchName, CommitId, CommitOutput, Details, Input, Output

__all__ = [
    "BlobQuery",
    "BrokenQueryOutput",
    "ExportInput",
    "LoadInput",
    "LoadOutput",
    "LoadQuery",
    "SchemaApplyInput",
    "SchemaApplyOutput",
    "SchemaOutput",
    "SchemaPlanInput",
    "SchemaPlanOutput",
    "TypeCountOutput",
]

Mode = Literal["append", "merge", "overwrite"]


class LoadInput(Input):
    """Records as JSON lines in a string; `load/ndjson` accepts them as the body."""

    data: str
    branch: BranchName | None = None
    source: str | None = field(name="from", default=None)
    mode: Mode = "merge"
    type: str | None = None
    message: str | None = None
    if_commit: CommitId | None = None
    dry_run: bool = False


class LoadQuery(Input):
    branch: str | None = None
    source: str | None = field(name="from", default=None)
    mode: Mode = "merge"
    type: str | None = None
    message: str | None = None
    if_commit: CommitId | None = None
    dry_run: bool = False


class TypeCountOutput(Output):
    name: str
    entities_loaded: int


class LoadOutput(Output):
    branch: str
    branch_created: bool
    mode: Mode
    nodes: list[TypeCountOutput]
    edges: list[TypeCountOutput]
    total_entities: int
    superseded: int
    deleted: int
    uri: str
    base_branch: str | None = None
    actor_id: str | None = None
    commit: CommitOutput | None = None
    dry_run: bool = False


class ExportInput(Input):
    branch: BranchName | None = None
    snapshot: str | None = None
    type_names: list[str] = field(default_factory=list)


class BlobQuery(Input):
    entity: Literal["node", "edge"]
    type: str
    id: str
    property: str
    branch: str | None = None
    snapshot: str | None = None


class SchemaOutput(Output):
    schema_source: str


class SchemaPlanInput(Input):
    schema_source: str
    branch: BranchName | None = None
    allow_data_loss: bool = False
    backfill: dict[str, Any] = field(default_factory=dict)


class SchemaApplyInput(SchemaPlanInput):
    message: str | None = None
    if_commit: CommitId | None = None
    dry_run: bool = False


class SchemaPlanOutput(Output):
    uri: str
    supported: bool
    step_count: int
    steps: list[Details]


class BrokenQueryOutput(Output):
    """A stored query that does not compile against the current schema."""

    name: str
    error: str


class SchemaApplyOutput(SchemaPlanOutput):
    branch: str
    applied: bool
    graph_manifest_version: int
    commit: CommitOutput | None = None
    dry_run: bool = False
    broken_queries: list[BrokenQueryOutput] = field(default_factory=list)
