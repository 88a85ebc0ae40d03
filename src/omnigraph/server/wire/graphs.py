"""Bodies of the server, its graphs, and the status of a graph."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import field

from omnigraph.server.wire.base import CommitId, EntityKind, WireInput, WireOutput

__all__ = [
    "DatasetOutput",
    "GraphOutput",
    "GraphsOutput",
    "HealthOutput",
    "OperationOutput",
    "OperationsOutput",
    "QuarantinedOutput",
    "ReadinessOutput",
    "SnapshotOutput",
    "SnapshotQuery",
    "StatusOutput",
]


class HealthOutput(WireOutput):
    status: Literal["ok"]
    version: str
    internal_schema_version: int


class ReadinessOutput(WireOutput):
    """The server is ready; `access` names its access mode."""

    status: Literal["ready"]
    access: Literal["open", "default_deny", "policy"]
    graphs: int
    # Configured graphs that cannot be served.
    quarantined: int


class GraphOutput(WireOutput):
    graph_id: str
    uri: str


class QuarantinedOutput(WireOutput):
    """A configured graph that cannot be served; `reason` is the code of its error."""

    graph_id: str
    reason: str


class GraphsOutput(WireOutput):
    graphs: list[GraphOutput]
    quarantined: list[QuarantinedOutput] = field(default_factory=list)


class SnapshotQuery(WireInput):
    branch: str | None = None
    snapshot: str | None = None


class DatasetOutput(WireOutput):
    entity_kind: EntityKind
    type_name: str
    entity_count: int
    dataset_path: str
    published_dataset_version: int


class SnapshotOutput(WireOutput):
    graph_branch: str
    graph_commit_id: CommitId
    graph_manifest_version: int
    internal_schema_version: int
    datasets: list[DatasetOutput]


class StatusOutput(WireOutput):
    """The identity, size, heads and problems of a graph."""

    uri: str
    graph_id: str
    internal_schema_version: int
    durability: str
    # Of main; null while it is damaged.
    head: CommitId | None
    schema: str | None
    branches: int
    tags: int
    node_types: int | None
    edge_types: int | None
    nodes: int | None
    edges: int | None
    pending: list[dict[str, Any]]
    damaged: list[dict[str, Any]] | None = None


class OperationOutput(WireOutput):
    """A running query, export or write."""

    id: str
    kind: str
    name: str
    target: str
    actor_id: str | None
    started_at: str


class OperationsOutput(WireOutput):
    operations: list[OperationOutput]
