"""The execution of a plan: the stages, then the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.cluster.resources import graph_of
from omnigraph.cluster.stages import ApplyRun, run_stages
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from omnigraph.cluster.ledger import Revision
    from omnigraph.cluster.planning import Change, ClusterPlan
    from omnigraph.cluster.reporting import Report
    from omnigraph.cluster.resources import DesiredState
    from omnigraph.cluster.root import ClusterRoot
    from omnigraph.cluster.working_ledger import WorkingLedger

__all__ = ["ApplyOutcome", "apply_plan"]


@frozen
class ApplyOutcome:
    """The final dispositions, and the written ledger."""

    changes: tuple[Change, ...]
    revision: Revision
    converged: bool

    @property
    def applied(self) -> int:
        return sum(each.disposition in {"applied", "derived"} for each in self.changes)

    @property
    def deferred(self) -> int:
        return len(self.changes) - self.applied


def apply_plan(
    root: ClusterRoot,
    desired: DesiredState,
    plan: ClusterPlan,
    working: WorkingLedger,
    report: Report,
    *,
    actor: str | None,
) -> ApplyOutcome:
    """Run the stages and write the ledger once. Another run executes what is left."""
    results = {each.resource: each for each in plan.changes}
    run = ApplyRun(root, desired, plan, working, report, actor, results)
    run_stages(run)
    converged = dict(working.entries) == desired.entries and not working.pending
    converged = converged and all(each.disposition != "blocked" for each in results.values())
    working.config_digest = desired.config_digest if converged else None
    _set_statuses(working, results)
    revision = working.commit(root, report)
    return ApplyOutcome(tuple(results[key] for key in sorted(results)), revision, converged)


def _set_statuses(working: WorkingLedger, results: dict[str, Change]) -> None:
    statuses: dict[str, dict[str, Any]] = {
        address: {"status": "applied", "conditions": []} for address in working.entries
    }
    for address, change in results.items():
        if change.disposition == "blocked":
            blocked = {"status": "blocked", "conditions": [change.reason]}
            statuses[address] = {**blocked, "message": change.message or ""}
    for address in statuses:
        if graph_of(address) in working.pending:
            statuses[address] = {"status": "error", "conditions": ["cluster_recovery_pending"]}
    working.statuses = statuses
