"""A graph at one target: everything that reads.

A verb is imported when it is called, but for ``query``, which nearly everybody calls.
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
    """A graph at one target: everything that reads, nothing that writes."""

    def __init__(
        self, engine: Engine, target: str, *, actor: str | None = None, guard: ActorPolicy = OPEN
    ) -> None:
        self._engine = engine
        self._target = target
        self._actor = actor
        self._gate = Authorizer(engine, guard.acting_as(actor))

    def __repr__(self) -> str:
        return f"<GraphAt {self._target} of {self._engine.root.objects.uri}>"

    def _read(self) -> Engine:
        """What to read through, once policy has agreed."""
        return self._gate.read(self._target)

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
        """Answer a read query. ``name`` picks one of several in ``text``; messages about the text
        call it ``source_name``.

        ``budget`` bounds rows, time and memory of this call; exceeding it is an error, never a
        shorter answer. ``traversal`` is ``csr`` or ``indexed``; the answer does not depend on it.
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
        """Answer a read query batch by batch, for results that are too large to hold at once."""
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
        """How a query would be answered now; nothing is read."""
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
        """Answer a query and tell the rows, time and bytes of every step."""
        from omnigraph.session.explain import profile_query

        return profile_query(
            self._read(),
            QueryRequest(
                text, params or {}, name, self._target, source_name, budget, traversal, self._actor
            ),
        )

    @property
    def target(self) -> str:
        """The branch, commit, tag or point in time that is read."""
        return self._target

    @property
    def actor(self) -> str | None:
        """Who reads; and who writes when a call does not say."""
        return self._actor

    @property
    def gate(self) -> Authorizer:
        """What asks policy, for the packages above that do a verb in another way."""
        return self._gate

    @property
    def engine(self) -> Engine:
        """What stands behind the facade, for the packages above it; not a promise to users."""
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
        """The steps from the schema at this target to another one; reads no data, changes
        nothing."""
        from omnigraph.api.schemas import DesiredSchema
        from omnigraph.evolution.plan import plan_change

        wanted = DesiredSchema(schema, source_name, allow_data_loss, backfill or {})
        return plan_change(self._read().snapshot(self._target), wanted).plan

    def snapshot(self) -> dict[str, Any]:
        """Which dataset versions this target consists of, and how many entities each holds."""
        from omnigraph.history.commits import snapshot_to_json

        engine = self._read()
        return snapshot_to_json(engine, engine.resolver.resolve(self._target))

    def indexes(self) -> Sequence[IndexStatus]:
        """The declared indexes at this target, built or not, and how many rows each covers."""
        from omnigraph.maintenance.indexes import list_indexes

        return list_indexes(self._read(), self._target)

    def blob(self, type: str, id: str, property: str, *, kind: str | None = None) -> Blob:  # noqa: A002 - the words of the graph
        """One blob, to be read whole (``data``) or piece by piece (``chunks``); ``kind`` insists on
        a ``node`` or an ``edge``."""
        from omnigraph.api.entities import BlobRequest
        from omnigraph.export.blob import read_blob

        return read_blob(self._read(), BlobRequest(type, id, property, self._target, kind))

    def nodes(self, type: str) -> pa.Table:  # noqa: A002 - the words of the graph
        """All nodes of a type as one Arrow table: ``id``, then the properties."""
        from omnigraph.export.entities import entity_table

        engine = self._gate.export(self._target)
        return entity_table(engine, self._target, EntityKind.NODE, type)

    def edges(self, type: str) -> pa.Table:  # noqa: A002 - the words of the graph
        """All edges of a type as one Arrow table: ``id``, ``src``, ``dst``, then the properties."""
        from omnigraph.export.entities import entity_table

        engine = self._gate.export(self._target)
        return entity_table(engine, self._target, EntityKind.EDGE, type)

    def to_networkx(self, *types: str) -> nx.MultiDiGraph:
        """The graph, or some types of it, for NetworkX: nodes are ``(type, id)``, properties are
        attributes. Edges come with the nodes at their ends."""
        from omnigraph.export.entities import to_networkx

        return to_networkx(self._gate.export(self._target), self._target, types)

    def export(
        self,
        out: Any,
        *,
        format: str = "ndjson",  # noqa: A002
        types: Sequence[str] = (),
    ) -> ExportResult:
        """Write everything at this target, or some types, to a path or an open binary file.

        ``format`` is ``ndjson``, ``csv``, ``parquet`` or ``arrow``. JSON lines hold any number of
        types; of the others a file holds one, and several types go into a directory.
        """
        from omnigraph.api.entities import ExportRequest
        from omnigraph.export.export import export

        engine = self._gate.export(self._target)
        with engine.running.during("export", self._target, self._actor):
            return export(engine, ExportRequest(out, self._target, types, format))
