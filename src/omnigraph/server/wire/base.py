"""Base classes of bodies."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct

__all__ = [
    "BranchName",
    "CommitId",
    "CommitOutput",
    "CountsOutput",
    "Details",
    "EntityKind",
    "Op",
    "Params",
    "Rows",
    "SchemaOp",
    "WireInput",
    "WireOutput",
]


class WireInput(Struct, forbid_unknown_fields=True):
    """The base of request bodies."""

    # Deprecated names that are accepted for fields.
    ALIASES: ClassVar[dict[str, str]] = {}


class WireOutput(Struct, omit_defaults=True):
    """The base of response bodies; absent fields are omitted. Later versions may add fields."""


BranchName = Annotated[str, Meta(description="A branch: `main`, `fix/typo`.", max_length=200)]
CommitId = Annotated[str, Meta(description="The id of a graph commit, a ULID.")]
EntityKind = Literal["node", "edge"]
Op = Literal["insert", "update", "delete"]
SchemaOp = Literal[
    "create_type",
    "rename_type",
    "drop_type",
    "create_property",
    "rename_property",
    "drop_property",
]
Params = Annotated[
    dict[str, Any],
    Meta(
        description="Values by parameter. Dates, datetimes and large integers travel as strings, "
        "bytes as `base64:…`."
    ),
]
Rows = list[dict[str, Any]]
Details = dict[str, Any]


class CountsOutput(WireOutput):
    """The number of entities that a commit changed."""

    nodes_inserted: int
    nodes_updated: int
    nodes_deleted: int
    edges_inserted: int
    edges_updated: int
    edges_deleted: int


class CommitOutput(WireOutput):
    """A commit; times are microseconds since 1970, UTC."""

    graph_commit_id: CommitId
    graph_branch: str
    graph_manifest_version: int
    created_at: int
    created_at_text: str
    kind: str
    schema: str
    affected_nodes: int
    affected_edges: int
    counts: CountsOutput
    parent_commit_id: CommitId | None = None
    merged_parent_commit_id: CommitId | None = None
    actor_id: str | None = None
    message: str | None = None
    idempotency_key: str | None = None
