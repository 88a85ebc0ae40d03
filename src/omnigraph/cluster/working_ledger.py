"""The ledger while a command changes it, and its single write at the end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from omnigraph.cluster.ledger import Ledger
from omnigraph.runtime.faults import reach

if TYPE_CHECKING:
    from omnigraph.cluster.ledger import Revision
    from omnigraph.cluster.lock import HeldLock
    from omnigraph.cluster.records import GraphIntent
    from omnigraph.cluster.reporting import Report
    from omnigraph.cluster.root import ClusterRoot

__all__ = ["WorkingLedger"]


@dataclass(slots=True)
class WorkingLedger:
    """Changes on top of a revision. Intents end and approvals are consumed after the write."""

    base: Revision
    lock: HeldLock
    entries: dict[str, dict[str, Any]] = field(init=False)
    statuses: dict[str, dict[str, Any]] = field(init=False)
    observations: dict[str, dict[str, Any]] = field(init=False)
    recoveries: dict[str, dict[str, Any]] = field(init=False)
    config_digest: str | None = field(init=False)
    finished: list[GraphIntent] = field(default_factory=list)
    # Graphs whose intents cannot be classified.
    pending: set[str] = field(default_factory=set)
    # Consumed approvals, with the operations that consumed them.
    consumed: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        ledger = self.base.ledger
        self.entries = dict(ledger.entries)
        self.statuses = dict(ledger.statuses)
        self.observations = dict(ledger.observations)
        self.recoveries = dict(ledger.recoveries)
        self.config_digest = ledger.config_digest

    @classmethod
    def open(cls, root: ClusterRoot, revision: Revision, lock: HeldLock) -> WorkingLedger:
        """Start from a revision. The number of a dead holder is fenced off by a write."""
        if lock.took_over and revision.number:
            fenced = replace(revision.ledger, fence=lock.fence)
            revision = root.ledger.write(fenced, base=revision.number)
        return cls(revision, lock)

    def commit(self, root: ClusterRoot, report: Report, *, always: bool = False) -> Revision:
        """Write the ledger if it changed, then end intents and consume approvals."""
        made = Ledger(
            self.entries,
            self.config_digest,
            self.base.ledger.fence,
            self.statuses,
            self.observations,
            {**self.base.ledger.approvals, **self._approval_records()},
            self.recoveries,
        )
        revision = self.base
        if always or made != self.base.ledger:
            self.lock.require()
            reach("cluster.before_state_write")
            fenced = replace(made, fence=self.lock.fence)
            revision = root.ledger.write(fenced, base=self.base.number)
            reach("cluster.state_written")
        for approval, operation in self.consumed.items():
            root.approvals.consume(approval, operation)
        reach("cluster.approvals_consumed")
        for intent in self.finished:
            root.intents.remove(intent, report)
        return revision

    def _approval_records(self) -> dict[str, dict[str, Any]]:
        return {
            approval: {"consumed_by_operation": operation}
            for approval, operation in self.consumed.items()
        }
