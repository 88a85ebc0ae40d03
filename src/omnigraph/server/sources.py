"""The graphs to serve: given by location, or by the ledger of a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.errors import Conflict, InvalidInput
from omnigraph.frozen import frozen
from omnigraph.graph.open import open_graph, open_policy
from omnigraph.policy.reading import parse_bundle
from omnigraph.server.registry import ServedGraph, parse_graph_id
from omnigraph.server.stored import EMPTY, compile_stored, read_stored_queries

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from omnigraph.cluster.serving import AppliedCluster, AppliedGraph
    from omnigraph.graph.open import PolicySource
    from omnigraph.policy.bundle import PolicyBundle
    from omnigraph.server.stored import StoredQueries

__all__ = ["GraphSource", "cluster_sources", "listed_sources", "open_source", "server_policy"]

_GRAPH_SUFFIX = ".omni"
_READ_ONLY = "preset:read-only"


@frozen
class GraphSource:
    """A graph to serve. Its queries are in a directory, or given by name as texts."""

    id: str
    uri: str
    policy: PolicySource = None
    directory: Path | None = None
    texts: Mapping[str, str] | None = None
    # Whether an interrupted apply of a cluster left the graph in doubt.
    pending: bool = False


def open_source(source: GraphSource, *, read_only: bool) -> ServedGraph:
    """Open a graph with its stored queries."""
    if source.pending:
        raise Conflict(
            "cluster.recovery_pending",
            f"an interrupted apply has not ended on graph {source.id!r}",
            remedy="run `omnigraph cluster apply`",
        )
    graph = open_graph(source.uri, read_only=read_only, policy=open_policy(source.policy))
    queries: StoredQueries = EMPTY
    # The catalog is read without an authorisation check: the reader is the server, not an actor.
    if source.texts is not None:
        queries = compile_stored(source.texts, graph.engine.snapshot().catalog)
    elif source.directory is not None:
        queries = read_stored_queries(source.directory, graph.engine.snapshot().catalog)
    return ServedGraph(source.id, graph, queries)


def cluster_sources(cluster: AppliedCluster, *, protected: bool) -> list[GraphSource]:
    """Return the graphs of a cluster. Protected ones without a policy permit reads only."""

    def policy_of(graph: AppliedGraph) -> PolicySource:
        if graph.policy is not None:
            return parse_bundle(graph.policy, f"policy of graph {graph.id}")
        return _READ_ONLY if protected else None

    return [
        GraphSource(
            graph.id, graph.uri, policy_of(graph), texts=graph.queries, pending=graph.pending
        )
        for graph in cluster.graphs
    ]


def server_policy(cluster: AppliedCluster) -> PolicyBundle | None:
    """Return the policy that a cluster declares for the server."""
    return None if cluster.policy is None else parse_bundle(cluster.policy, "policy of the server")


def listed_sources(
    graphs: Sequence[str], queries: str | None, policy: PolicySource
) -> list[GraphSource]:
    """Return graphs that are given by location, with one policy for all."""
    # Opened once, so that all graphs share it.
    opened, addresses = open_policy(policy), _addresses(graphs)
    return [
        GraphSource(name, uri, opened, _directory(queries, name, len(addresses)))
        for name, uri in addresses.items()
    ]


def _addresses(graphs: Sequence[str]) -> dict[str, str]:
    """Return the addresses of the graphs by id: the explicit one, or the name of the directory."""
    found: dict[str, str] = {}
    for text in graphs:
        name, mark, address = text.partition("=")
        # An equals sign after a slash is part of the path.
        given = mark and "/" not in name and not Path(text).exists()
        uri = address if given else text
        graph_id = parse_graph_id(name if given else _name_of(uri))
        if graph_id in found:
            raise InvalidInput(
                "serve.duplicate_id",
                f"two graphs would be served as {graph_id!r}: {found[graph_id]} and {uri}",
                remedy="name them with ID=PATH",
            )
        found[graph_id] = uri
    if not found:
        raise InvalidInput("serve.no_graph", "no graph given", remedy="pass one or several graphs")
    return found


def _name_of(uri: str) -> str:
    path = uri if "://" in uri else str(Path(uri).resolve())
    return path.rstrip("/").rpartition("/")[2].removesuffix(_GRAPH_SUFFIX)


def _directory(queries: str | None, graph_id: str, graphs: int) -> Path | None:
    if queries is None:
        return None
    base = Path(queries)
    if graphs == 1:
        return base
    own = base / graph_id
    return own if own.is_dir() else None
