"""Classification of intents that an interrupted apply left: roll forward, or retire.

An intent precedes its effect and is removed after the ledger is written, so a remaining one means
that the effect may be missing in the ledger. The observed graph decides; nothing is rolled back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.cluster.observation import observe_graph
from omnigraph.cluster.resources import (
    graph_address,
    graph_digest,
    graph_of,
    schema_address,
)
from omnigraph.errors import GraphError
from omnigraph.lifecycle.delete import delete_graph, read_tombstone
from omnigraph.runtime.clock import SYSTEM_CLOCK, format_micros

if TYPE_CHECKING:
    from omnigraph.cluster.records import GraphIntent
    from omnigraph.cluster.reporting import Report
    from omnigraph.cluster.root import ClusterRoot
    from omnigraph.cluster.working_ledger import WorkingLedger

__all__ = ["remove_graph", "sweep_intents"]


def sweep_intents(root: ClusterRoot, working: WorkingLedger, report: Report) -> None:
    """Classify all intents; finished ones are removed after the ledger is written."""
    for intent in root.intents.pending():
        match intent.kind:
            case "graph_delete":
                done = _sweep_delete(root, intent, working, report)
            case _:
                done = _sweep_schema(root, intent, working, report)
        if done:
            working.finished.append(intent)
        else:
            working.pending.add(intent.graph)


def _sweep_schema(
    root: ClusterRoot, intent: GraphIntent, working: WorkingLedger, report: Report
) -> bool:
    """Sweep a creation or a schema change."""
    address = schema_address(intent.graph)
    digest = intent.schema_digest or ""
    body = root.catalogue.read(address, digest)
    seen = observe_graph(root, intent.graph, {digest: body} if body else {}, desired=digest)
    if not seen.exists or seen.is_deleted:
        return True
    if seen.code is not None:
        code = "graph_create_incomplete" if intent.kind == "graph_create" else seen.code
        code = code if "." not in code else "actual_applied_state_pending"
        report.error(code, graph_address(intent.graph), seen.error or "", remedy="repair the graph")
        return False
    if working.entries.get(address, {}).get("digest") == digest:
        return True
    if seen.schema_digest != digest and intent.kind != "graph_create":
        # The change did not happen; the next plan contains it again.
        return True
    _roll_forward(root, intent, working, seen.schema_digest or "", seen.schema_text or "")
    report.warn(
        "cluster_recovery_rolled_forward",
        graph_address(intent.graph),
        f"an interrupted apply had completed {intent.kind} {intent.id}",
    )
    return True


def _roll_forward(
    root: ClusterRoot, intent: GraphIntent, working: WorkingLedger, digest: str, text: str
) -> None:
    schema, graph = schema_address(intent.graph), graph_address(intent.graph)
    if digest != intent.schema_digest:
        root.catalogue.publish(schema, digest, text.encode())
    working.entries[schema] = {"digest": digest}
    working.entries.setdefault(graph, {})
    own = working.entries[graph]
    working.entries[graph] = {**own, "digest": graph_digest(intent.graph, working.entries)}
    working.recoveries[intent.id] = _audit(intent, "rolled_forward")


def _sweep_delete(
    root: ClusterRoot, intent: GraphIntent, working: WorkingLedger, report: Report
) -> bool:
    address = graph_address(intent.graph)
    objects = root.graph_objects(intent.graph)
    try:
        deleted = read_tombstone(objects)
        if deleted is not None and deleted.get("reason") == intent.approval_id:
            delete_graph(objects)
        elif address in working.entries:
            # Nothing happened: the same approval permits the next attempt.
            return True
    except GraphError as error:
        report.error("graph_delete_incomplete", address, error.message, remedy=error.remedy)
        return False
    if address in working.entries:
        remove_graph(working, intent, deleted)
        working.recoveries[intent.id] = _audit(intent, "rolled_forward")
    elif intent.approval_id is not None:
        # The ledger has the deletion; its approval may not be consumed yet.
        working.consumed[intent.approval_id] = intent.id
    return True


def remove_graph(
    working: WorkingLedger, intent: GraphIntent, deleted: dict[str, Any] | None
) -> None:
    """Remove a graph from the ledger, and keep its entries with the record of the deletion."""
    mine = [each for each in working.entries if graph_of(each) == intent.graph]
    working.observations[graph_address(intent.graph)] = {
        "kind": "tombstone",
        "deleted_at": (deleted or {}).get("deleted_at") or format_micros(SYSTEM_CLOCK.now_micros()),
        "approval_id": intent.approval_id,
        "actor": intent.actor,
        "resources": {address: working.entries[address] for address in mine},
    }
    for address in mine:
        del working.entries[address]
        working.statuses.pop(address, None)
    if intent.approval_id is not None:
        working.consumed[intent.approval_id] = intent.id


def _audit(intent: GraphIntent, verdict: str) -> dict[str, Any]:
    return {
        **intent.to_json(),
        "verdict": verdict,
        "recovered_at": format_micros(SYSTEM_CLOCK.now_micros()),
    }
