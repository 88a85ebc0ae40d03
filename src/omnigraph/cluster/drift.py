"""Drift: differences between the ledger and the graphs and payloads that it describes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.cluster.catalogue import PayloadState
from omnigraph.cluster.observation import observe_graphs
from omnigraph.cluster.reporting import ClusterDiagnostic, Report
from omnigraph.cluster.resources import digest_of, graph_address, graph_digest, schema_address

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.cluster.observation import GraphObservation
    from omnigraph.cluster.resources import DesiredState
    from omnigraph.cluster.root import ClusterRoot
    from omnigraph.cluster.working_ledger import WorkingLedger

__all__ = ["adopt_graph", "find_drift", "report_payloads"]


def find_drift(
    root: ClusterRoot,
    desired: DesiredState,
    entries: Mapping[str, dict[str, Any]],
    report: Report,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return statuses and observations of graphs and payloads."""
    statuses: dict[str, Any] = {address: _status("applied") for address in entries}
    payloads = root.catalogue.check(entries)
    report_payloads(payloads, report)
    for address, state in payloads.items():
        if state is not PayloadState.WHOLE:
            kind = "error" if state is PayloadState.UNREADABLE else "drifted"
            statuses[address] = _status(kind, state.value)
    observations: dict[str, Any] = {}
    for graph, seen in observe_graphs(root, desired, entries).items():
        address, schema = graph_address(graph), schema_address(graph)
        declared = desired.resources.get(schema)
        observations[address] = seen.to_json(declared.digest if declared else None)
        if address not in entries:
            if not seen.exists or seen.is_deleted:
                del observations[address]
            continue
        if seen.is_deleted or not seen.exists:
            statuses[address] = statuses[schema] = _status("drifted", "graph_missing")
            report.warn("graph_missing", address, seen.error or "")
        elif seen.code is not None:
            statuses[address] = _status("error", "graph_observation_error")
            report.error("graph_observation_error", address, seen.error or "")
        elif seen.schema_digest != entries.get(schema, {}).get("digest"):
            statuses[schema] = _status("drifted", "schema_mismatch")
            report.warn("schema_mismatch", schema, "the schema was changed outside of the cluster")
    return statuses, observations


def _status(status: str, condition: str | None = None) -> dict[str, Any]:
    return {"status": status, "conditions": [condition] if condition else []}


def adopt_graph(
    root: ClusterRoot,
    desired: DesiredState,
    graph: str,
    seen: GraphObservation,
    working: WorkingLedger,
    report: Report,
) -> None:
    """Record an existing graph with its live schema."""
    address, schema = graph_address(graph), schema_address(graph)
    if not seen.exists or seen.is_deleted:
        report.warn("graph_missing", address, "it will be created by the next apply")
        return
    if seen.code is not None:
        report.error("graph_observation_error", address, seen.error or "")
        return
    declared = desired.resources[schema]
    body = (seen.schema_text or "").encode()
    if seen.schema_digest == declared.digest and declared.body is not None:
        body = declared.body
    root.catalogue.publish(schema, digest_of(body), body)
    working.entries[schema] = {"digest": digest_of(body)}
    working.entries[address] = {"digest": graph_digest(graph, working.entries)}


def report_payloads(
    states: Mapping[str, PayloadState], report: Report, *, severity: str = "error"
) -> None:
    for address, state in states.items():
        if state is not PayloadState.WHOLE:
            unreadable = state is PayloadState.UNREADABLE
            report.add(
                ClusterDiagnostic(
                    state.value,
                    address,
                    "the payload cannot be read" if unreadable else "the payload is not whole",
                    severity if not unreadable else "error",
                    remedy="restore access" if unreadable else "the next apply writes it again",
                )
            )
