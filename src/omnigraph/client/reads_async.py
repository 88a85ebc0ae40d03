"""Reads of a remote graph at one target, asynchronous."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.api.arrow_stream import read_stream
from omnigraph.api.entities import Blob, ExportResult, open_output
from omnigraph.api.names import MAIN
from omnigraph.api.networkx import build_networkx, select_types
from omnigraph.api.schemas import DesiredSchema
from omnigraph.api.targets import Target, is_branch_target, target_text
from omnigraph.catalog.backfill import match_backfill
from omnigraph.catalog.build import build_catalog
from omnigraph.catalog.diff import plan_migration
from omnigraph.catalog.model import Catalog, EntityKind, EntityType
from omnigraph.client import decoding as answers
from omnigraph.client import history_decoding as histories
from omnigraph.client.connection import Requester
from omnigraph.client.failures import not_served
from omnigraph.client.request_bodies import ARROW_HEADERS, query_body, schema_body, target_body
from omnigraph.client.requests import get, path_of, post
from omnigraph.client.results import result_of, spool
from omnigraph.frozen import frozen
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import DEFAULT_SOURCE_NAME, Source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import networkx as nx

    from omnigraph.api.queries import Explanation
    from omnigraph.api.results import QueryResult, QueryStream
    from omnigraph.catalog.steps import MigrationPlan
    from omnigraph.client.connection import Connection
    from omnigraph.runtime.budget import Budget

__all__ = ["AsyncRemoteGraphAt"]


@frozen
class _BufferedBlob:
    """A blob that is held in memory."""

    data: bytes
    tag: str

    @property
    def size(self) -> int:
        return len(self.data)

    def read(self, start: int, length: int) -> bytes:
        return self.data[start : start + length]


class AsyncRemoteGraphAt(Requester):
    """The read-only view of a remote graph at one target."""

    def __init__(self, connection: Connection, target: Target = MAIN) -> None:
        super().__init__(connection)
        self._target = target_text(target)

    async def schema(self) -> str:
        """Return the schema at this target as ``.pg``."""
        return str((await self._get("/schema", **target_body(self._target)))["schema_source"])

    async def catalog(self) -> Catalog:
        """Build the schema at this target from its text; its stable ids differ from those of the
        graph.
        """
        source = Source((await self.schema()), "<schema>")
        return build_catalog(parse_schema(source), source)

    async def nodes(self, type: str) -> pa.Table:  # noqa: A002 - the words of the graph
        """Return all nodes of a type as one Arrow table: ``id``, then the properties."""
        return await self._table(self._target, EntityKind.NODE, type)

    async def edges(self, type: str) -> pa.Table:  # noqa: A002
        """Return all edges of a type as one Arrow table: ``id``, ``src``, ``dst``, then the
        properties.
        """
        return await self._table(self._target, EntityKind.EDGE, type)

    async def to_networkx(self, *types: str) -> nx.MultiDiGraph:
        """Return the graph, or some of its types, for NetworkX.

        Nodes are ``(type, id)``, properties are attributes. Edge types include their node types.
        """
        # All reads use one commit, even if the branch advances meanwhile.
        commit = (await self._get("/snapshot", **target_body(self._target)))["graph_commit_id"]
        catalog = await AsyncRemoteGraphAt(self._connection, commit).catalog()
        tables: dict[str, pa.Table] = {}
        for entity in select_types(catalog, types):
            tables[entity.name] = await self._table(commit, entity.kind, entity.name)

        def rows(entity: EntityType) -> list[dict[str, Any]]:
            return list(tables[entity.name].to_pylist())

        return build_networkx(catalog, types, rows)

    async def blob(
        self,
        type: str,  # noqa: A002
        id: str,  # noqa: A002
        property: str,  # noqa: A002
        *,
        kind: str | None = None,
    ) -> Blob:
        """Read one blob."""
        if kind is None:
            entity = (await self.catalog()).entity(type)
            # The server reports a missing type.
            kind = "node" if entity is None else entity.kind.value
        held = spool()
        place = target_body(self._target)
        said = get("/blob", entity=kind, type=type, id=id, property=property, **place)
        answer = await self._send(said.into(held.write))
        held.seek(0)
        tag = answer.headers["etag"].strip('"')
        return Blob(_BufferedBlob(held.read(), tag), answer.headers["omnigraph-graph-commit"])

    async def query(
        self,
        text: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        source_name: str = DEFAULT_SOURCE_NAME,  # noqa: ARG002 - the server names its sources
        budget: Budget | None = None,
        traversal: str | None = None,
    ) -> QueryResult:
        """Run a read query and return its result with typed values."""
        body = query_body(self._target, text, params, name, traversal, budget)
        return result_of(
            await self._send(post("/query", body, repeatable=True, headers=ARROW_HEADERS))
        )

    async def stream(
        self,
        text: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        source_name: str = DEFAULT_SOURCE_NAME,  # noqa: ARG002
        budget: Budget | None = None,
    ) -> QueryStream:
        """Run a read query and return its result as batches; large results are spooled to disk."""
        held = spool()
        body = query_body(self._target, text, params, name, None, budget)
        await self._send(
            post("/query", body, repeatable=True, headers=ARROW_HEADERS, sink=held.write)
        )
        held.seek(0)
        return read_stream(held)

    async def explain(
        self,
        text: str,
        *,
        name: str | None = None,
        source_name: str = DEFAULT_SOURCE_NAME,  # noqa: ARG002
        traversal: str | None = None,
    ) -> Explanation:
        """Return the plan of a query without running it."""
        body = query_body(self._target, text, None, name, traversal)
        return answers.explanation_of(await self._post("/explain", body, repeatable=True))

    async def profile(
        self,
        text: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        source_name: str = DEFAULT_SOURCE_NAME,  # noqa: ARG002
        budget: Budget | None = None,
        traversal: str | None = None,
    ) -> Explanation:
        """Run a query, and measure the rows, time and bytes of every operator."""
        body = query_body(self._target, text, params, name, traversal, budget)
        return answers.explanation_of(await self._post("/profile", body, repeatable=True))

    async def snapshot(self) -> dict[str, Any]:
        """List the dataset versions of this target, and the number of entities of each."""
        return dict(await self._get("/snapshot", **target_body(self._target)))

    async def plan_schema(
        self,
        schema: str,
        *,
        source_name: str = "<schema>",
        allow_data_loss: bool = False,
        backfill: Mapping[str, Any] | None = None,
    ) -> MigrationPlan:
        """Plan the steps from the schema at this target to another one; changes nothing."""
        if not is_branch_target(self._target):
            raise not_served("schema plans for targets other than branches")
        wanted = DesiredSchema(schema, source_name, allow_data_loss, backfill or {})
        shown = await self.planned(wanted)
        said = post("/schema/plan", schema_body(wanted, self._target), repeatable=True)
        return histories.RemotePlan(shown.steps, (await self._send(said)).body)

    async def export(
        self,
        out: Any,
        *,
        format: str = "ndjson",  # noqa: A002
        types: Sequence[str] = (),
    ) -> ExportResult:
        """Export the entities of this target, or some types, to a path or an open binary file."""
        if format != "ndjson":
            raise not_served(f"exports as {format}")
        # All reads use one commit, even if the branch advances meanwhile.
        found = await self.snapshot()
        commit = found["graph_commit_id"]
        body = {"snapshot": commit, "type_names": list(types) or None}
        with open_output(out) as file:
            await self._send(post("/export", body, repeatable=True, sink=file.write))
        counts = tuple(
            (EntityKind(each["entity_kind"]), each["type_name"], each["entity_count"])
            for each in found["datasets"]
            if not types or each["type_name"] in types
        )
        return ExportResult(self._target, commit, counts)

    async def planned(self, wanted: DesiredSchema) -> MigrationPlan:
        """Plan the schema change locally, in order to show its steps."""
        accepted = await self.catalog()
        found = await self.snapshot()
        desired = wanted.build(accepted)
        given = match_backfill(wanted.backfill, accepted, desired)
        rows = {each["type_name"]: each["entity_count"] for each in found["datasets"]}
        return plan_migration(
            accepted,
            desired,
            allow_data_loss=wanted.allow_data_loss,
            row_counts={
                each.id: rows[each.name] for each in accepted.types.values() if each.name in rows
            },
            backfill=given.spelled,
        )

    async def _table(self, target: str, kind: EntityKind, name: str) -> pa.Table:
        held = spool()
        await self._send(
            get(f"/entities{path_of(kind.value, name)}", **target_body(target)).into(held.write)
        )
        held.seek(0)
        return pa.ipc.open_stream(held).read_all()
