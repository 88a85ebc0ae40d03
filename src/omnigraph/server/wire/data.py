"""Bodies of loads, exports, blobs and schema changes."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import field

from omnigraph.server.wire.base import (
    BranchName,
    CommitId,
    CommitOutput,
    Details,
    WireInput,
    WireOutput,
)

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


class LoadInput(WireInput):
    """Records as JSON lines in a string; `load/ndjson` accepts them as the body."""

    data: str
    branch: BranchName | None = None
    source: str | None = field(name="from", default=None)
    mode: Mode = "merge"
    type: str | None = None
    message: str | None = None
    if_commit: CommitId | None = None
    dry_run: bool = False


class LoadQuery(WireInput):
    branch: str | None = None
    source: str | None = field(name="from", default=None)
    mode: Mode = "merge"
    type: str | None = None
    message: str | None = None
    if_commit: CommitId | None = None
    dry_run: bool = False


class TypeCountOutput(WireOutput):
    name: str
    entities_loaded: int


class LoadOutput(WireOutput):
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


class ExportInput(WireInput):
    branch: BranchName | None = None
    snapshot: str | None = None
    type_names: list[str] = field(default_factory=list)


class BlobQuery(WireInput):
    entity: Literal["node", "edge"]
    type: str
    id: str
    property: str
    branch: str | None = None
    snapshot: str | None = None


class SchemaOutput(WireOutput):
    schema_source: str


class SchemaPlanInput(WireInput):
    schema_source: str
    branch: BranchName | None = None
    allow_data_loss: bool = False
    backfill: dict[str, Any] = field(default_factory=dict)


class SchemaApplyInput(SchemaPlanInput):
    message: str | None = None
    if_commit: CommitId | None = None
    dry_run: bool = False


class SchemaPlanOutput(WireOutput):
    uri: str
    supported: bool
    step_count: int
    steps: list[Details]


class BrokenQueryOutput(WireOutput):
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
