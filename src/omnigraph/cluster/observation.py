"""Observation of graphs: existence and live schema, read-only, on ``main``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.cluster.resources import digest_of, graph_of, kind_of, schema_address
from omnigraph.errors import GraphError
from omnigraph.frozen import frozen
from omnigraph.graph.open import open_graph
from omnigraph.runtime.clock import SYSTEM_CLOCK, format_micros

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.catalog.steps import MigrationPlan
    from omnigraph.cluster.resources import DesiredState
    from omnigraph.cluster.root import ClusterRoot

__all__ = ["ABSENT", "GraphObservation", "observe_graph", "observe_graphs"]

# Codes of graphs that do not exist yet.
ABSENT = frozenset({"graph.missing", "graph.half_made"})


@frozen
class GraphObservation:
    """The state of a graph root. ``error`` is the code and text of a failed open."""

    graph: str
    uri: str
    # The digest of the live schema, if it is one of the compared ones; else of its printed form.
    schema_digest: str | None = None
    # The live schema as its graph prints it.
    schema_text: str | None = None
    manifest_version: int | None = None
    # The migration from the live schema to the desired one.
    migration: MigrationPlan | None = None
    code: str | None = None
    error: str | None = None

    @property
    def exists(self) -> bool:
        return self.code not in ABSENT

    @property
    def is_deleted(self) -> bool:
        return self.code == "graph.deleted"

    def to_json(self, desired_digest: str | None) -> dict[str, Any]:
        return {
            "kind": "graph",
            "address": f"graph.{self.graph}",
            "graph_uri": self.uri,
            "observed_at": format_micros(SYSTEM_CLOCK.now_micros()),
            "exists": self.exists and not self.is_deleted,
            "graph_manifest_version": self.manifest_version,
            "schema_digest": self.schema_digest,
            "desired_schema_digest": desired_digest,
            "schema_matches_desired": desired_digest is not None
            and self.schema_digest == desired_digest,
            "error": self.error,
        }


def observe_graph(
    root: ClusterRoot, graph: str, schemas: Mapping[str, bytes], *, desired: str | None
) -> GraphObservation:
    """Observe a graph, and compare its schema with known ones by digest, the desired one first."""
    uri = root.graph_uri(graph)
    try:
        with open_graph(uri, read_only=True, storage_options=root.storage_options) as opened:
            main = opened.at("main")
            version = int(main.snapshot()["graph_manifest_version"])
            migration, found = None, None
            for digest in sorted(schemas, key=lambda each: each != desired):
                plan = main.plan_schema(schemas[digest].decode(), source_name=schema_address(graph))
                if digest == desired:
                    migration = plan
                if not plan.steps:
                    found = digest
                    break
            text = main.schema
            live = found or digest_of(text.encode())
            return GraphObservation(graph, uri, live, text, version, migration)
    except GraphError as error:
        return GraphObservation(graph, uri, code=error.code, error=error.message)


def observe_graphs(
    root: ClusterRoot, desired: DesiredState, entries: Mapping[str, Mapping[str, Any]]
) -> dict[str, GraphObservation]:
    """Observe all declared and all applied graphs."""
    applied = {graph_of(address) for address in entries if kind_of(address) == "graph"}
    found = {}
    for graph in sorted({*desired.graph_ids, *(each for each in applied if each)}):
        address = schema_address(graph)
        schemas: dict[str, bytes] = {}
        declared, known = desired.resources.get(address), entries.get(address)
        if declared is not None and declared.body is not None:
            schemas[declared.digest] = declared.body
        if known is not None and (body := root.catalogue.read(address, known["digest"])):
            schemas[known["digest"]] = body
        found[graph] = observe_graph(
            root, graph, schemas, desired=declared.digest if declared else None
        )
    return found
