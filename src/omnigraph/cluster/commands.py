"""The commands of a cluster, one function each; the command line prints their results."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from omnigraph.cluster.applying import apply_plan
from omnigraph.cluster.drift import adopt_graph, find_drift, report_payloads
from omnigraph.cluster.ledger import Ledger, Revision
from omnigraph.cluster.observation import observe_graphs
from omnigraph.cluster.planning import Change, ClusterPlan, PlanInput, plan_changes
from omnigraph.cluster.records import Approval
from omnigraph.cluster.reporting import ClusterDiagnostic, ClusterRefusal, Report, refuse
from omnigraph.cluster.resources import (
    dependencies_of,
    graph_address,
    graph_of,
    kind_of,
)
from omnigraph.cluster.root import ClusterRoot, open_root
from omnigraph.cluster.sweep import sweep_intents
from omnigraph.cluster.validation import CONFIG_FILE, load_cluster
from omnigraph.cluster.working_ledger import WorkingLedger
from omnigraph.errors import GraphError
from omnigraph.frozen import frozen
from omnigraph.lifecycle.delete import undelete_graph
from omnigraph.runtime.ids import new_ulid

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from omnigraph.cluster.resources import DesiredState

__all__ = ["Cluster", "ClusterResult"]

_EMPTY = Revision(0, Ledger())


@frozen
class ClusterResult:
    """The result of a command: its JSON fields, its diagnostics, and its plan if it has one."""

    directory: str
    diagnostics: tuple[ClusterDiagnostic, ...]
    fields: Mapping[str, Any] = field(default_factory=dict)
    plan: ClusterPlan | None = None
    changes: tuple[Change, ...] = ()

    @property
    def ok(self) -> bool:
        return all(each.severity != "error" for each in self.diagnostics)

    def to_json(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "config_dir": self.directory,
            **self.fields,
            "diagnostics": [each.to_json() for each in self.diagnostics],
        }


class Cluster:
    """A cluster directory with its storage."""

    def __init__(
        self, directory: Path, *, storage_options: Mapping[str, str] | None = None
    ) -> None:
        self.directory = directory
        self._options = storage_options

    def validate(self) -> ClusterResult:
        """Check the directory without access to its storage."""
        report = Report()
        desired = load_cluster(self.directory, report)
        found = sorted(desired.resources.items()) if desired else []
        entries = desired.entries if desired else {}
        fields = {
            "config_file": str(self.directory / CONFIG_FILE),
            "resource_digests": {address: each.digest for address, each in found},
            "resources": [each.to_json() for _, each in found],
            "dependencies": _dependencies(entries),
        }
        return self._result(report, fields)

    def plan(self, *, recreate_empty: bool = False) -> ClusterResult:
        """Compare declared, applied and observed state. Nothing is locked or written."""

        def run(report: Report) -> ClusterResult:
            desired, root = self._load(report)
            revision = root.ledger.read() or _EMPTY
            for intent in root.intents.pending():
                report.warn(
                    "cluster_recovery_pending",
                    graph_address(intent.graph),
                    f"an interrupted apply left {intent.kind} {intent.id}; the next one ends it",
                )
            made = _plan(
                root, desired, revision.ledger.entries, report, recreate_empty=recreate_empty
            )
            _require_ledger(revision, made)
            fields = {
                **made.to_json(),
                "root": root.uri,
                "recreate_empty": recreate_empty,
                "plan_digest": made.digest,
                "resource_digests": desired.digests,
                "dependencies": _dependencies(desired.entries),
                "state_observations": root.state_observations(revision if revision.key else None),
            }
            return self._result(report, fields, plan=made, changes=made.changes)

        return self._run(run)

    def apply(
        self,
        *,
        actor: str | None = None,
        recreate_empty: bool = False,
        saved: Mapping[str, Any] | None = None,
    ) -> ClusterResult:
        """Make storage equal the declaration. ``saved`` is the JSON of a plan to apply exactly."""

        def run(report: Report) -> ClusterResult:
            desired, root = self._load(report)
            recreate = bool(saved["recreate_empty"]) if saved else recreate_empty
            with root.lock.held("cluster apply", actor=actor) as lock:
                found = root.ledger.read()
                working = WorkingLedger.open(root, found or _EMPTY, lock)
                if saved is not None:
                    _require_current(saved, root, found)
                sweep_intents(root, working, report)
                made = _plan(root, desired, working.entries, report, recreate_empty=recreate)
                _require_ledger(working.base, made)
                if saved is not None and saved.get("plan_digest") != made.digest:
                    _refuse_stale("what it would change differs now")
                done = apply_plan(root, desired, made, working, report, actor=actor)
                fields = {
                    **made.to_json(),
                    "changes": [each.to_json() for each in done.changes],
                    "actor": actor,
                    "applied_count": done.applied,
                    "deferred_count": done.deferred,
                    "converged": done.converged,
                    "state_written": done.revision.number != (found.number if found else 0),
                    "resource_statuses": dict(done.revision.ledger.statuses),
                    "state_observations": root.state_observations(
                        done.revision, acquired=lock.info.lock_id
                    ),
                }
            return self._result(report, fields, plan=made, changes=done.changes)

        return self._run(run)

    def approve(self, resource: str, *, actor: str) -> ClusterResult:
        """Approve the deletion of a graph, as the current plan contains it."""

        def run(report: Report) -> ClusterResult:
            desired, root = self._load(report)
            with root.lock.held("cluster approve", actor=actor):
                revision = root.ledger.read() or _EMPTY
                entry = revision.ledger.entries.get(resource)
                if kind_of(resource) != "graph" or entry is None or resource in desired.resources:
                    refuse(
                        "approval_not_required",
                        resource,
                        "only the deletion of an applied graph needs an approval",
                        remedy="see `omnigraph cluster plan`",
                    )
                approval = Approval(
                    str(new_ulid()),
                    resource,
                    "delete",
                    actor,
                    desired.config_digest,
                    entry["digest"],
                )
                root.approvals.grant(approval)
            fields = {
                name: approval.to_json()[name]
                for name in ("approval_id", "resource", "operation", "approved_by")
            }
            return self._result(report, fields)

        return self._run(run)

    def status(self) -> ClusterResult:
        """Read ledger, lock and payloads; nothing is locked or written."""

        def run(report: Report) -> ClusterResult:
            _, root = self._load(report)
            found = root.ledger.read()
            if found is None:
                report.warn(
                    "state_missing", "", "there is no ledger", remedy="omnigraph cluster apply"
                )
            ledger = (found or _EMPTY).ledger
            report_payloads(root.catalogue.check(ledger.entries), report)
            fields = {
                "resource_digests": _digests(ledger.entries),
                "resource_statuses": dict(ledger.statuses),
                "observations": dict(ledger.observations),
                "state_observations": root.state_observations(found),
            }
            return self._result(report, fields)

        return self._run(run)

    def observe(self) -> ClusterResult:
        """Report what ``refresh`` would record, without lock and without writing."""

        def run(report: Report) -> ClusterResult:
            desired, root = self._load(report)
            found = root.ledger.read()
            ledger = (found or _EMPTY).ledger
            statuses, observations = find_drift(root, desired, ledger.entries, report)
            fields = {
                "operation": "observe",
                "authority": "observed",
                "resource_digests": _digests(ledger.entries),
                "resource_statuses": {**ledger.statuses, **statuses},
                "observations": {**ledger.observations, **observations},
                "state_observations": root.state_observations(found),
            }
            return self._result(report, fields)

        return self._run(run)

    def refresh(self) -> ClusterResult:
        """Observe graphs and payloads, and record drift in the ledger."""

        def run(report: Report) -> ClusterResult:
            desired, root = self._load(report)
            with root.lock.held("cluster refresh") as lock:
                found = root.ledger.read()
                if found is None:
                    refuse(
                        "state_missing",
                        "",
                        "there is no ledger",
                        remedy="`omnigraph cluster import` rebuilds a lost one",
                    )
                working = WorkingLedger.open(root, found, lock)
                sweep_intents(root, working, report)
                statuses, observations = find_drift(root, desired, working.entries, report)
                working.statuses |= statuses
                working.observations |= observations
                revision = working.commit(root, report, always=True)
                return self._recorded("refresh", root, revision, lock.info.lock_id, report)

        return self._run(run)

    def import_state(self) -> ClusterResult:
        """Build the ledger from the graphs that exist; there must be none."""

        def run(report: Report) -> ClusterResult:
            desired, root = self._load(report)
            with root.lock.held("cluster import") as lock:
                if root.ledger.read() is not None:
                    refuse(
                        "state_already_exists",
                        "",
                        "there is a ledger",
                        remedy="`omnigraph cluster refresh` compares it with the graphs",
                    )
                working = WorkingLedger.open(root, _EMPTY, lock)
                observed = observe_graphs(root, desired, {})
                for graph, seen in observed.items():
                    adopt_graph(root, desired, graph, seen, working, report)
                if not report.ok:
                    return self._result(report)
                sweep_intents(root, working, report)
                statuses, observations = find_drift(root, desired, working.entries, Report())
                working.statuses |= statuses
                working.observations |= observations
                revision = working.commit(root, report, always=True)
                return self._recorded("import", root, revision, lock.info.lock_id, report)

        return self._run(run)

    def undelete(self, resource: str, *, actor: str | None = None) -> ClusterResult:
        """Restore a deleted graph with its data, and its entries in the ledger."""

        def run(report: Report) -> ClusterResult:
            _, root = self._load(report)
            graph = graph_of(resource) or resource
            address = graph_address(graph)
            with root.lock.held("cluster undelete", actor=actor) as lock:
                working = WorkingLedger.open(root, root.ledger.read() or _EMPTY, lock)
                sweep_intents(root, working, report)
                record = working.observations.get(address, {})
                try:
                    undelete_graph(root.graph_objects(graph))
                except GraphError as error:
                    if error.code != "graph.not_deleted" or record.get("kind") != "tombstone":
                        refuse("graph_not_deleted", address, error.message)
                if record.get("kind") == "tombstone":
                    working.entries |= record["resources"]
                    del working.observations[address]
                    working.config_digest = None
                revision = working.commit(root, report)
                fields = {
                    "resource": address,
                    "resource_digests": _digests(revision.ledger.entries),
                    "state_observations": root.state_observations(
                        revision, acquired=lock.info.lock_id
                    ),
                }
            return self._result(report, fields)

        return self._run(run)

    def force_unlock(self, lock_id: str) -> ClusterResult:
        """End a lock by its id."""

        def run(report: Report) -> ClusterResult:
            _, root = self._load(report)
            root.lock.force_unlock(lock_id)
            fields = {
                "lock_removed": True,
                "state_observations": root.state_observations(root.ledger.read()),
            }
            return self._result(report, fields)

        return self._run(run)

    def _recorded(
        self, operation: str, root: ClusterRoot, revision: Revision, lock_id: str, report: Report
    ) -> ClusterResult:
        fields = {
            "operation": operation,
            "resource_digests": _digests(revision.ledger.entries),
            "resource_statuses": dict(revision.ledger.statuses),
            "observations": dict(revision.ledger.observations),
            "state_observations": root.state_observations(revision, acquired=lock_id),
        }
        return self._result(report, fields)

    def _load(self, report: Report) -> tuple[DesiredState, ClusterRoot]:
        desired = load_cluster(self.directory, report)
        if desired is None:
            raise _Invalid
        return desired, open_root(self.directory, desired.storage, self._options)

    def _run(self, command: Callable[[Report], ClusterResult]) -> ClusterResult:
        report = Report()
        try:
            return command(report)
        except _Invalid:
            return self._result(report)
        except ClusterRefusal as refusal:
            report.add(refusal.diagnostic)
            return self._result(report)

    def _result(
        self,
        report: Report,
        fields: Mapping[str, Any] | None = None,
        *,
        plan: ClusterPlan | None = None,
        changes: tuple[Change, ...] = (),
    ) -> ClusterResult:
        return ClusterResult(str(self.directory), tuple(report), fields or {}, plan, changes)


class _Invalid(Exception):
    """The directory is not valid; the report has the reasons."""


def _plan(
    root: ClusterRoot,
    desired: DesiredState,
    entries: Mapping[str, dict[str, Any]],
    report: Report,
    *,
    recreate_empty: bool = False,
) -> ClusterPlan:
    approvals = root.approvals.open()
    payloads = root.catalogue.check(entries)
    report_payloads(payloads, report, severity="warning")
    observed = observe_graphs(root, desired, entries)
    made = plan_changes(
        PlanInput(desired, entries, observed, payloads, approvals, recreate_empty=recreate_empty)
    )
    deleted = {each.resource: each for each in made.changes if each.operation == "delete"}
    for approval in approvals:
        change = deleted.get(approval.resource)
        if change is not None and change.approval_id is None:
            report.warn(
                "approval_stale",
                approval.resource,
                f"the approval {approval.approval_id} was given for other digests",
                remedy=f"omnigraph cluster approve {approval.resource} --as ACTOR",
            )
    return made


def _require_ledger(revision: Revision, plan: ClusterPlan) -> None:
    """Refuse to plan without a ledger if declared graphs exist: it was lost."""
    if revision.number == 0 and any(each.reason == "graph_exists" for each in plan.changes):
        refuse(
            "state_missing",
            "",
            "there is no ledger, and declared graphs exist",
            remedy="`omnigraph cluster import` rebuilds the ledger from them",
        )


def _require_current(saved: Mapping[str, Any], root: ClusterRoot, found: Revision | None) -> None:
    if saved.get("root") != root.uri:
        _refuse_stale(f"it is a plan of {saved.get('root')}")
    cas = saved.get("state_observations", {}).get("state_cas")
    if cas != (found.cas if found else None):
        _refuse_stale("the ledger has changed")


def _refuse_stale(why: str) -> None:
    refuse(
        "plan_stale",
        "",
        f"the saved plan is out of date: {why}",
        remedy="make and review a new one",
    )


def _digests(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    return {address: entry["digest"] for address, entry in sorted(entries.items())}


def _dependencies(entries: Mapping[str, Mapping[str, Any]]) -> list[dict[str, str]]:
    return [{"from": source, "to": target} for source, target in dependencies_of(entries)]
