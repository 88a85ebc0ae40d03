"""The difference between declared, applied and observed state, and what an apply may do with it.

Planning has no effects. Each change has a disposition: ``applied``, ``derived`` (the digest of a
graph follows its parts) or ``blocked`` with a reason.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from omnigraph.cluster.catalogue import PayloadState
from omnigraph.cluster.resources import (
    blast_radius,
    canonical_json,
    dependencies_of,
    digest_of,
    graph_address,
    graph_of,
    kind_of,
    schema_address,
)
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from omnigraph.catalog.steps import MigrationPlan
    from omnigraph.cluster.catalogue import PayloadState as State
    from omnigraph.cluster.observation import GraphObservation
    from omnigraph.cluster.records import Approval
    from omnigraph.cluster.resources import DesiredState

__all__ = ["Change", "ClusterPlan", "PlanInput", "plan_changes"]

_REPUBLISHED = (PayloadState.MISSING, PayloadState.MISMATCH)


@frozen
class Change:
    """A change of one resource."""

    resource: str
    operation: str
    before: str | None
    after: str | None
    disposition: str = "applied"
    reason: str | None = None
    message: str | None = None
    approval_id: str | None = None
    binding_change: bool = False
    metadata_change: str | None = None
    migration: MigrationPlan | None = None

    @property
    def runs(self) -> bool:
        return self.disposition == "applied"

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "resource": self.resource,
            "operation": self.operation,
            "before_digest": self.before,
            "after_digest": self.after,
            "disposition": self.disposition,
        }
        more = {
            "reason": self.reason,
            "message": self.message,
            "binding_change": self.binding_change or None,
            "metadata_change": self.metadata_change,
            "migration": self.migration.to_json() if self.migration else None,
        }
        return body | {name: value for name, value in more.items() if value is not None}


@frozen
class PlanInput:
    """Everything that a plan depends on."""

    desired: DesiredState
    applied: Mapping[str, dict[str, Any]]
    observed: Mapping[str, GraphObservation]
    payloads: Mapping[str, State]
    approvals: Sequence[Approval] = ()
    recreate_empty: bool = False


@frozen
class ClusterPlan:
    """The changes of a cluster, ordered by address."""

    changes: tuple[Change, ...]
    config_digest: str
    dependencies: tuple[tuple[str, str], ...]

    def of(self, kind: str, operation: str | None = None) -> list[Change]:
        """Return the changes that an apply executes."""
        return [
            each
            for each in self.changes
            if each.runs and kind_of(each.resource) == kind and operation in {None, each.operation}
        ]

    @property
    def blocked(self) -> list[Change]:
        return [each for each in self.changes if each.disposition == "blocked"]

    @property
    def digest(self) -> str:
        """Identify the content: configuration, changes and migrations."""
        return digest_of(
            canonical_json([self.config_digest, [each.to_json() for each in self.changes]])
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "desired_revision": {"config_digest": self.config_digest},
            "changes": [each.to_json() for each in self.changes],
            "blast_radius": [
                {"resource": each.resource, "affected": affected}
                for each in self.changes
                if (affected := blast_radius(each.resource, self.dependencies))
            ],
            "approvals_required": [
                {
                    "resource": each.resource,
                    "reason": "approval_required",
                    "satisfied": each.approval_id is not None,
                }
                for each in self.changes
                if kind_of(each.resource) == "graph" and each.operation == "delete"
            ],
        }


def plan_changes(given: PlanInput) -> ClusterPlan:
    """Plan all changes. Graphs are decided first, then schemas, and the rest by these."""
    raw = {change.resource: change for change in _differences(given)}
    decided: dict[str, Change] = {}
    rank = {"graph": 0, "schema": 1}
    for address in sorted(raw, key=lambda each: (rank.get(kind_of(each), 2), each)):
        decided[address] = _decide(raw[address], given, decided)
    for address, change in decided.items():
        schema = decided.get(schema_address(graph_of(address) or ""))
        if change.disposition == "derived" and schema and not schema.runs:
            decided[address] = _block(change, "dependency_not_applied")
    entries = {**given.applied, **given.desired.entries}
    return ClusterPlan(
        tuple(decided[address] for address in sorted(decided)),
        given.desired.config_digest,
        tuple(dependencies_of(entries)),
    )


def _differences(given: PlanInput) -> list[Change]:
    found = []
    desired = given.desired.entries
    for address in sorted({*desired, *given.applied}):
        before, after = _effective(address, given), desired.get(address)
        if before is None and after is None:
            # The graph is gone, and so is its declaration.
            before = given.applied[address]
        if before == after:
            continue
        operation = "create" if before is None else "delete" if after is None else "update"
        found.append(
            Change(
                address,
                operation,
                before["digest"] if before else None,
                after["digest"] if after else None,
                binding_change=_differ(before, after, "applies_to"),
                metadata_change=_metadata_change(before, after),
            )
        )
    return found


def _effective(address: str, given: PlanInput) -> dict[str, Any] | None:
    """Return the applied entry, corrected by observation; None if it must be made again."""
    entry = given.applied.get(address)
    if entry is None:
        return None
    seen = given.observed.get(graph_of(address) or "")
    kind = kind_of(address)
    if seen is not None and kind in {"graph", "schema"} and (not seen.exists or seen.is_deleted):
        return None
    if kind == "schema" and seen is not None and seen.schema_digest not in {None, entry["digest"]}:
        return {**entry, "digest": seen.schema_digest}
    return None if given.payloads.get(address) in _REPUBLISHED else entry


def _differ(before: dict[str, Any] | None, after: dict[str, Any] | None, key: str) -> bool:
    return before is not None and after is not None and before.get(key) != after.get(key)


def _metadata_change(before: dict[str, Any] | None, after: dict[str, Any] | None) -> str | None:
    if before is None or after is None or before["digest"] != after["digest"]:
        return None
    return "policy_bindings" if _differ(before, after, "applies_to") else None


# --- dispositions ------------------------------------------------------------------------------


def _decide(change: Change, given: PlanInput, decided: Mapping[str, Change]) -> Change:
    match kind_of(change.resource):
        case "graph":
            return _decide_graph(change, given)
        case "schema":
            return _decide_schema(change, given, decided)
        case "policy":
            return _decide_policy(change, given, decided)
        case "query":
            return _decide_query(change, decided)
        case _:
            return change


def _decide_graph(change: Change, given: PlanInput) -> Change:
    match change.operation:
        case "create":
            return _decide_create(change, given)
        case "delete":
            before = given.applied[change.resource]["digest"]
            for approval in given.approvals:
                if approval.fits(change.resource, given.desired.config_digest, before):
                    return replace(change, approval_id=approval.approval_id)
            return _block(
                change,
                "approval_required",
                f"approve it: `omnigraph cluster approve {change.resource} --as ACTOR`",
            )
        case _:
            return replace(change, disposition="derived")


def _decide_create(change: Change, given: PlanInput) -> Change:
    seen = given.observed.get(graph_of(change.resource) or "")
    if seen is not None and seen.is_deleted:
        return _block(change, "graph_deleted", "`omnigraph cluster undelete` restores it")
    if change.resource in given.applied and not given.recreate_empty:
        return _block(
            change,
            "graph_missing",
            "its root has vanished: restore it from a copy, or apply with --recreate-empty",
        )
    if seen is not None and seen.exists and seen.code is not None:
        return _block(change, "graph_observation_error", seen.error)
    if seen is not None and seen.exists:
        return _block(
            change, "graph_exists", "the root contains a graph: `omnigraph cluster import`"
        )
    return change


def _decide_schema(change: Change, given: PlanInput, decided: Mapping[str, Change]) -> Change:
    graph = graph_of(change.resource) or ""
    owner = decided.get(graph_address(graph))
    if change.operation == "delete":
        return _follow(change, owner)
    if owner is not None and owner.operation == "create":
        return _follow(change, owner, reason="dependency_not_applied")
    seen = given.observed.get(graph)
    if seen is None or seen.code is not None:
        return _block(change, "graph_observation_error", seen.error if seen else None)
    if seen.migration is not None and not seen.migration.supported:
        refused = replace(change, migration=seen.migration)
        return _block(refused, "apply_unsupported_change", seen.migration.refusals[0].reason)
    return replace(change, migration=seen.migration)


def _decide_query(change: Change, decided: Mapping[str, Change]) -> Change:
    graph = graph_of(change.resource) or ""
    owner, schema = decided.get(graph_address(graph)), decided.get(schema_address(graph))
    if owner is not None and owner.operation == "delete":
        return _follow(change, owner)
    for needed in (owner, schema) if change.operation != "delete" else ():
        if needed is not None and needed.disposition == "blocked":
            return _block(change, "dependency_not_applied")
    return change


def _decide_policy(change: Change, given: PlanInput, decided: Mapping[str, Change]) -> Change:
    if change.operation == "delete":
        return change
    for scope in given.desired.entries[change.resource].get("applies_to", ()):
        needed = decided.get(scope)
        if needed is not None and needed.disposition == "blocked":
            return _block(change, "dependency_not_applied")
    return change


def _follow(change: Change, owner: Change | None, *, reason: str | None = None) -> Change:
    """Give a change the disposition of the graph that carries it."""
    if owner is None:
        return _block(change, "apply_unsupported_kind")
    if owner.disposition == "blocked":
        return _block(change, reason or owner.reason or "dependency_not_applied")
    return change


def _block(change: Change, reason: str, message: str | None = None) -> Change:
    return replace(change, disposition="blocked", reason=reason, message=message)
