"""The applied state of a cluster as a server reads it: from the ledger alone, without a lock.

Faults of the ledger and of its payloads prevent the start; a graph with an unfinished apply is
quarantined.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnigraph.cluster.reporting import ClusterRefusal, Report
from omnigraph.cluster.resources import graph_address, graph_of, kind_of
from omnigraph.cluster.root import ClusterRoot, open_root
from omnigraph.cluster.validation import CONFIG_FILE, load_cluster
from omnigraph.errors import StorageFault
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["AppliedCluster", "AppliedGraph", "read_applied"]

_CLUSTER = "cluster"


@frozen
class AppliedGraph:
    """A graph with its queries by name, and its policy."""

    id: str
    uri: str
    queries: Mapping[str, str]
    policy: str | None = None
    # Whether an interrupted apply left an intent.
    pending: bool = False


@frozen
class AppliedCluster:
    """The graphs of a ledger revision, and the policy of the server."""

    uri: str
    revision: int
    graphs: tuple[AppliedGraph, ...]
    policy: str | None = None

    @property
    def has_policy(self) -> bool:
        return self.policy is not None or any(graph.policy for graph in self.graphs)


def read_applied(location: str) -> AppliedCluster:
    """Read the ledger of a cluster directory, or of a storage root."""
    try:
        return _read(_root_of(location))
    except ClusterRefusal as refusal:
        found = refusal.diagnostic
        raise StorageFault(f"cluster.{found.code}", found.message, remedy=found.remedy) from refusal


def _root_of(location: str) -> ClusterRoot:
    directory = Path(location)
    if "://" in location or not (directory / CONFIG_FILE).is_file():
        return open_root(Path(), location)
    report = Report()
    desired = load_cluster(directory, report)
    if desired is None:
        first = next(each for each in report if each.severity == "error")
        raise ClusterRefusal(first)
    return open_root(directory, desired.storage)


def _read(root: ClusterRoot) -> AppliedCluster:
    found = root.ledger.read()
    if found is None:
        raise StorageFault(
            "cluster.state_missing",
            f"there is no ledger in {root.uri}",
            remedy="run `omnigraph cluster apply`",
        )
    entries = found.ledger.entries
    texts = {
        address: _payload(root, address, entry)
        for address, entry in entries.items()
        if kind_of(address) in {"query", "policy"}
    }
    policies: dict[str, str] = {}
    for address, entry in entries.items():
        if kind_of(address) == "policy":
            policies |= dict.fromkeys(entry["applies_to"], texts[address])
    pending = {intent.graph for intent in root.intents.pending()}
    graphs = []
    for address in sorted(entries):
        if kind_of(address) != "graph":
            continue
        graph = graph_of(address) or ""
        prefix = f"query.{graph}."
        queries = {
            each.removeprefix(prefix): text
            for each, text in sorted(texts.items())
            if each.startswith(prefix)
        }
        policy = policies.get(graph_address(graph))
        uri = root.graph_uri(graph)
        graphs.append(AppliedGraph(graph, uri, queries, policy, pending=graph in pending))
    if not graphs:
        raise StorageFault("cluster.empty", f"the cluster at {root.uri} has no graphs")
    return AppliedCluster(root.uri, found.number, tuple(graphs), policies.get(_CLUSTER))


def _payload(root: ClusterRoot, address: str, entry: Mapping[str, Any]) -> str:
    body = root.catalogue.read(address, str(entry["digest"]))
    if body is None:
        raise StorageFault(
            "cluster.payload_damaged",
            f"the payload of {address} is missing, or does not match its digest",
            remedy="run `omnigraph cluster apply`, which writes it again",
        )
    return body.decode()
