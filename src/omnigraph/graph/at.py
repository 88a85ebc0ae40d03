"""The read-only view of an embedded graph at one target.

Operations are imported on first use, except ``query``, which nearly every process needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.api.queries import QueryRequest
from omnigraph.catalog.model import EntityKind
from omnigraph.graph.authorize import Authorizer
from omnigraph.language.source import DEFAULT_SOURCE_NAME
from omnigraph.policy.guard import OPEN
from omnigraph.session.query import run_query, stream_query

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import networkx as nx
    import pyarrow as pa

    from omnigraph.api.entities import Blob, ExportResult
    from omnigraph.api.indexes import IndexStatus
    from omnigraph.api.queries import Explanation
    from omnigraph.api.results import QueryResult, QueryStream
    from omnigraph.catalog.model import Catalog
    from omnigraph.catalog.steps import MigrationPlan
    from omnigraph.policy.guard import ActorPolicy
    from omnigraph.runtime.budget import Budget
    from omnigraph.session.engine import Engine

__all__ = ["EmbeddedGraphAt"]


class EmbeddedGraphAt:
    """The read-only view of a graph at one target."""

    def __init__(
        self, engine: Engine, target: str, *, actor: str | None = None, guard: ActorPolicy = OPEN
    ) -> None:
        self._engine = engine
        self._target = target
        self._actor = actor
        self._authorizer = Authorizer(engine, guard.acting_as(actor))

    def __repr__(self) -> str:
        return f"<GraphAt {self._target} of {self._engine.root.objects.uri}>"

    def _read(self) -> Engine:
        """Authorise a read of the target, and return the engine for it."""
        return self._authorizer.read(self._target)

    def query(
        self,
        text: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        source_name: str = DEFAULT_SOURCE_NAME,
        budget: Budget | None = None,
        traversal: str | None = None,
    ) -> QueryResult:
        """Run a read query.

        ``name`` selects one of several queries in ``text``; ``source_name`` identifies the text in
        messages. ``budget`` bounds rows, time and memory of this call; exceeding it is an error,
        never a truncated result. ``traversal`` is ``csr`` or ``indexed``; the result does not
        depend on it.
        """
        return run_query(
            self._read(),
            QueryRequest(
                text, params or {}, name, self._target, source_name, budget, traversal, self._actor
            ),
        )

    def stream(
        self,
        text: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        source_name: str = DEFAULT_SOURCE_NAME,
        budget: Budget | None = None,
    ) -> QueryStream:
        """Run a read query and return its result as batches, for results larger than memory."""
        return stream_query(
            self._read(),
            QueryRequest(
                text, params or {}, name, self._target, source_name, budget, None, self._actor
            ),
        )

    def explain(
        self,
        text: str,
        *,
        name: str | None = None,
        source_name: str = DEFAULT_SOURCE_NAME,
        traversal: str | None = None,
    ) -> Explanation:
        """Return the plan of a query without running it."""
        from omnigraph.session.explain import explain_query

        request = QueryRequest(text, {}, name, self._target, source_name, None, traversal)
        return explain_query(self._read(), request)

    def profile(
        self,
        text: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        source_name: str = DEFAULT_SOURCE_NAME,
        budget: Budget | None = None,
        traversal: str | None = None,
    ) -> Explanation:
        """Run a query, and measure the rows, time and bytes of every operator."""
        from omnigraph.session.explain import profile_query

        return profile_query(
            self._read(),
            QueryRequest(
                text, params or {}, name, self._target, source_name, budget, traversal, self._actor
            ),
        )

    @property
    def target(self) -> str:
        """The branch, commit, tag or point in time of this view."""
        return self._target

    @property
    def actor(self) -> str | None:
        """The actor of reads, and the default actor of writes."""
        return self._actor

    @property
    def authorizer(self) -> Authorizer:
        """The authorizer, for packages above that perform an operation in another way."""
        return self._authorizer

    @property
    def engine(self) -> Engine:
        """The engine, for packages above; not part of the public interface."""
        return self._engine

    @property
    def catalog(self) -> Catalog:
        """The accepted schema at this target, with its stable ids."""
        return self._read().snapshot(self._target).catalog

    @property
    def schema(self) -> str:
        """The schema at this target, as ``.pg``."""
        from omnigraph.catalog.source import print_catalog

        return print_catalog(self.catalog)

    def plan_schema(
        self,
        schema: str,
        *,
        source_name: str = "<schema>",
        allow_data_loss: bool = False,
        backfill: Mapping[str, Any] | None = None,
    ) -> MigrationPlan:
        """Plan the steps from the schema at this target to another one; reads no data, changes
        nothing.
        """
        from omnigraph.api.schemas import DesiredSchema
        from omnigraph.evolution.plan import plan_change

        wanted = DesiredSchema(schema, source_name, allow_data_loss, backfill or {})
        return plan_change(self._read().snapshot(self._target), wanted).plan

    def snapshot(self) -> dict[str, Any]:
        """List the dataset versions of this target, and the number of entities of each."""
        from omnigraph.history.commits import snapshot_to_json

        engine = self._read()
        return snapshot_to_json(engine, engine.resolver.resolve(self._target))

    def indexes(self) -> Sequence[IndexStatus]:
        """List the declared indexes at this target, built or not, with their coverage."""
        from omnigraph.maintenance.indexes import list_indexes

        return list_indexes(self._read(), self._target)

    def blob(self, type: str, id: str, property: str, *, kind: str | None = None) -> Blob:  # noqa: A002 - the words of the graph
        """Open one blob, to be read whole (``data``) or in ``chunks``.

        ``kind`` restricts the entity to a ``node`` or an ``edge``.
        """
        from omnigraph.api.entities import BlobRequest
        from omnigraph.export.blob import read_blob

        return read_blob(self._read(), BlobRequest(type, id, property, self._target, kind))

    def nodes(self, type: str) -> pa.Table:  # noqa: A002 - the words of the graph
        """Return all nodes of a type as one Arrow table: ``id``, then the properties."""
        from omnigraph.export.entities import entity_table

        engine = self._authorizer.export(self._target)
        return entity_table(engine, self._target, EntityKind.NODE, type)

    def edges(self, type: str) -> pa.Table:  # noqa: A002 - the words of the graph
        """Return all edges of a type as one Arrow table: ``id``, ``src``, ``dst``, then the
        properties.
        """
        from omnigraph.export.entities import entity_table

        engine = self._authorizer.export(self._target)
        return entity_table(engine, self._target, EntityKind.EDGE, type)

    def to_networkx(self, *types: str) -> nx.MultiDiGraph:
        """Return the graph, or some of its types, for NetworkX.

        Nodes are ``(type, id)``, properties are attributes. Edge types include their node types.
        """
        from omnigraph.export.entities import to_networkx

        return to_networkx(self._authorizer.export(self._target), self._target, types)

    def export(
        self,
        out: Any,
        *,
        format: str = "ndjson",  # noqa: A002
        types: Sequence[str] = (),
    ) -> ExportResult:
        """Export the entities of this target, or some types, to a path or an open binary file.

        ``format`` is ``ndjson``, ``csv``, ``parquet`` or ``arrow``. JSON lines hold any number of
        types; a file of another format holds one type, and several types become a directory.
        """
        from omnigraph.api.entities import ExportRequest
        from omnigraph.export.export import export

        engine = self._authorizer.export(self._target)
        with engine.running.during("export", self._target, self._actor):
            return export(engine, ExportRequest(out, self._target, types, format))
