"""The ``Graph`` protocol: the methods of embedded and remote graphs.

The embedded graph (``omnigraph.graph.facade``) and the remote one (``omnigraph.client.remote``)
satisfy it: ``omnigraph.opening`` returns either, and the type checker compares every method. The
embedded graph documents them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self

from omnigraph.api.names import MAIN
from omnigraph.language.source import DEFAULT_SOURCE_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import networkx as nx
    import pyarrow as pa

    from omnigraph.api.change_pages import EntityHistory
    from omnigraph.api.commits import Commit
    from omnigraph.api.entities import Blob, ExportResult
    from omnigraph.api.indexes import EnsureResult, IndexStatus
    from omnigraph.api.merges import MergeResult, PickResult
    from omnigraph.api.namespaces import (
        BranchNamespace,
        ChangeNamespace,
        CommitNamespace,
        Diff,
        OperationNamespace,
        RecoveryNamespace,
        TagNamespace,
    )
    from omnigraph.api.queries import Explanation
    from omnigraph.api.results import QueryResult, QueryStream
    from omnigraph.api.schemas import SchemaResult
    from omnigraph.api.status import AuditRow, Status
    from omnigraph.api.targets import Target
    from omnigraph.api.writes import LoadResult, MutationResult, Progress
    from omnigraph.catalog.model import Catalog
    from omnigraph.catalog.steps import MigrationPlan
    from omnigraph.runtime.budget import Budget

__all__ = ["Graph", "GraphAt"]


class GraphAt(Protocol):
    """The read-only view of a graph at one target."""

    def query(
        self,
        text: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        source_name: str = DEFAULT_SOURCE_NAME,
        budget: Budget | None = None,
        traversal: str | None = None,
    ) -> QueryResult: ...

    def stream(
        self,
        text: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        source_name: str = DEFAULT_SOURCE_NAME,
        budget: Budget | None = None,
    ) -> QueryStream: ...

    def explain(
        self,
        text: str,
        *,
        name: str | None = None,
        source_name: str = DEFAULT_SOURCE_NAME,
        traversal: str | None = None,
    ) -> Explanation: ...

    def profile(
        self,
        text: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        source_name: str = DEFAULT_SOURCE_NAME,
        budget: Budget | None = None,
        traversal: str | None = None,
    ) -> Explanation: ...

    @property
    def catalog(self) -> Catalog: ...

    @property
    def schema(self) -> str: ...

    def plan_schema(
        self,
        schema: str,
        *,
        source_name: str = "<schema>",
        allow_data_loss: bool = False,
        backfill: Mapping[str, Any] | None = None,
    ) -> MigrationPlan: ...

    def snapshot(self) -> dict[str, Any]: ...

    def indexes(self) -> Sequence[IndexStatus]: ...

    def blob(self, type: str, id: str, property: str, *, kind: str | None = None) -> Blob: ...

    def nodes(self, type: str) -> pa.Table: ...

    def edges(self, type: str) -> pa.Table: ...

    def to_networkx(self, *types: str) -> nx.MultiDiGraph: ...

    def export(
        self, out: Any, *, format: str = "ndjson", types: Sequence[str] = ()
    ) -> ExportResult: ...


class Graph(GraphAt, Protocol):
    """A graph, embedded or remote. A context manager."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    @property
    def branches(self) -> BranchNamespace: ...

    @property
    def tags(self) -> TagNamespace: ...

    @property
    def commits(self) -> CommitNamespace: ...

    @property
    def changes(self) -> ChangeNamespace: ...

    @property
    def recoveries(self) -> RecoveryNamespace: ...

    @property
    def operations(self) -> OperationNamespace: ...

    @property
    def uri(self) -> str: ...

    @property
    def id(self) -> str: ...

    @property
    def actor(self) -> str | None: ...

    def at(self, target: Target) -> GraphAt: ...

    def mutate(
        self,
        text: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        branch: str = MAIN,
        actor: str | None = None,
        message: str | None = None,
        if_commit: str | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
        source_name: str = DEFAULT_SOURCE_NAME,
    ) -> MutationResult: ...

    def load(
        self,
        source: Any,
        *,
        mode: str,
        branch: str = MAIN,
        from_: str | None = None,
        type: str | None = None,
        format: str | None = None,
        actor: str | None = None,
        message: str | None = None,
        if_commit: str | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> LoadResult: ...

    def apply_schema(
        self,
        schema: str,
        *,
        branch: str = MAIN,
        allow_data_loss: bool = False,
        backfill: Mapping[str, Any] | None = None,
        actor: str | None = None,
        message: str | None = None,
        if_commit: str | None = None,
        dry_run: bool = False,
        source_name: str = "<schema>",
    ) -> SchemaResult: ...

    def diff(
        self,
        before: Target,
        after: Target,
        *,
        kinds: Sequence[str] = (),
        types: Sequence[str] = (),
        ops: Sequence[str] = (),
    ) -> Diff: ...

    def blame(
        self, type: str, id: str, *, target: Target = MAIN, limit: int = 1000
    ) -> EntityHistory: ...

    def merge(
        self,
        source: str,
        *,
        into: str = MAIN,
        preview: bool = False,
        strategy: str | None = None,
        resolutions: Sequence[Mapping[str, Any]] | None = None,
        delete_branch: bool = False,
        actor: str | None = None,
        message: str | None = None,
        if_commit: str | None = None,
    ) -> MergeResult: ...

    def revert(
        self,
        commit_id: str | Commit,
        *,
        branch: str = MAIN,
        preview: bool = False,
        strategy: str | None = None,
        resolutions: Sequence[Mapping[str, Any]] | None = None,
        actor: str | None = None,
        message: str | None = None,
        if_commit: str | None = None,
    ) -> PickResult: ...

    def cherry_pick(
        self,
        commit_id: str | Commit,
        *,
        into: str = MAIN,
        preview: bool = False,
        strategy: str | None = None,
        resolutions: Sequence[Mapping[str, Any]] | None = None,
        actor: str | None = None,
        message: str | None = None,
        if_commit: str | None = None,
    ) -> PickResult: ...

    def ensure_indices(
        self,
        *,
        branch: str = MAIN,
        types: Sequence[str] | None = None,
        force: bool = False,
        actor: str | None = None,
    ) -> EnsureResult: ...

    def refresh(self) -> Sequence[AuditRow]: ...

    def status(self) -> Status: ...

    def close(self) -> None: ...
