"""The stages of an apply, in order: creations, schemas, payloads, deletions.

A graph moves after its intent is written, and the ledger is written after all stages. The first
graph that fails ends the graph-moving work of the run; what depends on it is blocked. Its intent
remains: the next run finds out whether the effect happened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from omnigraph.cluster.resources import (
    graph_address,
    graph_digest,
    graph_of,
    kind_of,
    schema_address,
)
from omnigraph.cluster.sweep import remove_graph
from omnigraph.errors import GraphError
from omnigraph.graph.open import init_graph, open_graph
from omnigraph.lifecycle.delete import delete_graph
from omnigraph.runtime.faults import reach

if TYPE_CHECKING:
    from omnigraph.cluster.planning import Change, ClusterPlan
    from omnigraph.cluster.reporting import Report
    from omnigraph.cluster.resources import DesiredState
    from omnigraph.cluster.root import ClusterRoot
    from omnigraph.cluster.working_ledger import WorkingLedger

__all__ = ["STAGES", "ApplyRun", "run_stages"]

_MESSAGE = "cluster apply"


@dataclass(slots=True)
class ApplyRun:
    """One execution of a plan. ``results`` has the final disposition of each change."""

    root: ClusterRoot
    desired: DesiredState
    plan: ClusterPlan
    working: WorkingLedger
    report: Report
    actor: str | None
    results: dict[str, Change]
    # Whether a graph failed: the rest is skipped.
    failed: bool = False

    def fail(self, change: Change, code: str, error: GraphError) -> None:
        self.failed = True
        self.report.error(code, change.resource, error.message, remedy=error.remedy)
        self._block(change.resource, code)

    def skip(self, change: Change, code: str) -> None:
        self.report.warn(code, change.resource, "skipped after a failure")
        self._block(change.resource, code)

    def _block(self, resource: str, reason: str) -> None:
        """Block a resource, and everything that depends on its graph."""
        graph = graph_of(resource)
        for address, change in self.results.items():
            if address == resource:
                self.results[address] = replace(change, disposition="blocked", reason=reason)
            elif change.disposition != "blocked" and self._depends(address, graph):
                self.results[address] = replace(
                    change, disposition="blocked", reason="dependency_not_applied"
                )

    def _depends(self, address: str, graph: str | None) -> bool:
        if kind_of(address) == "policy":
            resource = self.desired.resources.get(address)
            scopes = resource.entry.get("applies_to", ()) if resource else ()
            return graph_address(graph or "") in scopes
        return graph_of(address) == graph

    def is_blocked(self, change: Change) -> bool:
        return self.results[change.resource].disposition == "blocked"


Stage: TypeAlias = Callable[[ApplyRun], None]


def run_stages(run: ApplyRun) -> None:
    """Run all stages."""
    for stage in STAGES:
        stage(run)


def create_graphs(run: ApplyRun) -> None:
    """Create graphs with their schemas."""
    for change in run.plan.of("graph", "create"):
        graph = graph_of(change.resource) or ""
        if run.failed:
            run.skip(change, "graph_create_skipped")
            continue
        schema = run.desired.resources[schema_address(graph)]
        body = schema.body or b""
        try:
            run.working.lock.require()
            run.root.catalogue.publish(schema.address, schema.digest, body)
            intent = run.root.intents.announce(
                "graph_create", graph, schema_digest=schema.digest, actor=run.actor
            )
            reach("cluster.before_graph_create")
            # The newline marks the text as a schema rather than a path.
            init_graph(
                run.root.graph_uri(graph),
                body.decode() + "\n",
                actor=run.actor,
                force=True,
                storage_options=run.root.storage_options,
            ).close()
            reach("cluster.graph_created")
        except GraphError as error:
            run.fail(change, "graph_create_failed", error)
            continue
        run.working.finished.append(intent)
        run.working.entries[schema.address] = schema.entry


def apply_schemas(run: ApplyRun) -> None:
    """Apply changed schemas to existing graphs."""
    created = {graph_of(each.resource) for each in run.plan.of("graph", "create")}
    for change in run.plan.of("schema"):
        graph = graph_of(change.resource) or ""
        if change.operation == "delete" or graph in created or run.is_blocked(change):
            continue
        if run.failed:
            run.skip(change, "schema_apply_skipped")
            continue
        schema = run.desired.resources[change.resource]
        try:
            _apply_schema(run, graph, schema.digest, schema.body or b"")
        except GraphError as error:
            run.fail(change, "schema_apply_failed", error)
            continue
        run.working.entries[change.resource] = schema.entry


def _apply_schema(run: ApplyRun, graph: str, digest: str, body: bytes) -> None:
    address = schema_address(graph)
    uri, options = run.root.graph_uri(graph), run.root.storage_options
    with open_graph(uri, actor=run.actor, storage_options=options) as opened:
        text = body.decode()
        # The data is checked first, so that a refusal leaves no intent.
        opened.apply_schema(text, source_name=address, dry_run=True)
        run.working.lock.require()
        run.root.catalogue.publish(address, digest, body)
        intent = run.root.intents.announce(
            "schema_apply", graph, schema_digest=digest, actor=run.actor
        )
        reach("cluster.before_schema_apply")
        opened.apply_schema(text, source_name=address, message=_MESSAGE, actor=run.actor)
        reach("cluster.schema_applied")
        run.working.finished.append(intent)


def publish_payloads(run: ApplyRun) -> None:
    """Write payloads and update the entries of queries, policies, providers and graphs."""
    run.working.lock.require()
    for change in run.plan.changes:
        kind = kind_of(change.resource)
        if kind in {"graph", "schema"} or run.is_blocked(change):
            continue
        if change.operation == "delete":
            # Queries of a deleted graph leave the ledger together with it.
            if kind != "query" or graph_address(graph_of(change.resource) or "") in (
                run.desired.resources
            ):
                run.working.entries.pop(change.resource, None)
            continue
        resource = run.desired.resources[change.resource]
        if resource.body is not None:
            run.root.catalogue.publish(resource.address, resource.digest, resource.body)
        run.working.entries[change.resource] = resource.entry
    reach("cluster.payloads_written")


def delete_graphs(run: ApplyRun) -> None:
    """Delete graphs with an approval: a tombstone each, their data remains."""
    for change in run.plan.of("graph", "delete"):
        graph = graph_of(change.resource) or ""
        if run.failed:
            run.skip(change, "graph_delete_skipped")
            continue
        try:
            run.working.lock.require()
            intent = run.root.intents.announce(
                "graph_delete", graph, actor=run.actor, approval_id=change.approval_id
            )
            reach("cluster.before_graph_delete")
            deleted = _delete(run, graph, change.approval_id)
            reach("cluster.graph_deleted")
        except GraphError as error:
            run.fail(change, "graph_delete_failed", error)
            continue
        run.working.finished.append(intent)
        remove_graph(run.working, intent, deleted)


def _delete(run: ApplyRun, graph: str, approval: str | None) -> dict[str, object] | None:
    try:
        return delete_graph(run.root.graph_objects(graph), actor=run.actor, reason=approval)
    except GraphError as error:
        if error.code == "graph.missing":
            # The root has vanished; only the ledger names it.
            return None
        raise


def derive_graphs(run: ApplyRun) -> None:
    """Recompute the digests of graphs from their parts in the ledger."""
    entries = run.working.entries
    for graph in run.desired.graph_ids:
        address = graph_address(graph)
        if schema_address(graph) not in entries:
            continue
        own = entries.get(address, {})
        change = run.results.get(address)
        if change is None or change.disposition != "blocked":
            own = run.desired.resources[address].entry
        entries[address] = {**own, "digest": graph_digest(graph, entries)}


# Payloads come before deletions: a deletion is the last effect before the ledger.
STAGES: tuple[Stage, ...] = (
    create_graphs,
    apply_schemas,
    publish_payloads,
    delete_graphs,
    derive_graphs,
)
