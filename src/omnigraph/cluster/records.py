"""Records beside the ledger: intents of running applies, and approvals.

Records are put once. An approval is consumed by a second object, so that no record is rewritten.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from omnigraph.cluster.reporting import Report, refuse
from omnigraph.errors import GraphError
from omnigraph.frozen import frozen
from omnigraph.runtime.clock import SYSTEM_CLOCK, format_micros
from omnigraph.runtime.ids import new_ulid
from omnigraph.runtime.json_text import MALFORMED, parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.ports.objects import ObjectStore

__all__ = ["Approval", "Approvals", "GraphIntent", "Intents"]

_INTENTS = "__cluster/recoveries"
_APPROVALS = "__cluster/approvals"
_CONSUMED = ".consumed"
_VERSION = 1


@frozen
class GraphIntent:
    """An announced effect on a graph: ``graph_create``, ``schema_apply`` or ``graph_delete``."""

    id: str
    kind: str
    graph: str
    schema_digest: str | None = None
    actor: str | None = None
    approval_id: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "schema_version": _VERSION,
            "operation_id": self.id,
            "kind": self.kind,
            "graph_id": self.graph,
            "desired_schema_digest": self.schema_digest,
            "actor": self.actor,
            "approval_id": self.approval_id,
            "started_at": format_micros(SYSTEM_CLOCK.now_micros()),
        }


class Intents:
    """The intents of one cluster root."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    def announce(
        self,
        kind: str,
        graph: str,
        *,
        schema_digest: str | None = None,
        actor: str | None = None,
        approval_id: str | None = None,
    ) -> GraphIntent:
        """Write an intent, before its effect."""
        intent = GraphIntent(str(new_ulid()), kind, graph, schema_digest, actor, approval_id)
        key = f"{_INTENTS}/{intent.id}.json"
        try:
            self._objects.put_if_absent(key, json.dumps(intent.to_json(), indent=2).encode())
        except GraphError as error:
            refuse("recovery_sidecar_write_error", key, error.message, remedy=error.remedy)
        return intent

    def pending(self) -> list[GraphIntent]:
        """Return the intents in the order of their creation."""
        try:
            keys = self._objects.list(_INTENTS)
            return [_intent(key, self._objects.get(key)) for key in keys]
        except GraphError as error:
            refuse("recovery_sidecar_read_error", _INTENTS, error.message)

    def remove(self, intent: GraphIntent, report: Report) -> None:
        """Remove a finished intent; a remaining one is classified again by the next apply."""
        try:
            self._objects.delete(f"{_INTENTS}/{intent.id}.json")
        except GraphError as error:
            report.warn("recovery_sidecar_cleanup_failed", _INTENTS, error.message)


def _intent(key: str, body: bytes) -> GraphIntent:
    try:
        found = parse_json(body)
        if found["schema_version"] != _VERSION:
            refuse("unsupported_recovery_sidecar_version", key, f"{found['schema_version']!r}")
        return GraphIntent(
            str(found["operation_id"]),
            str(found["kind"]),
            str(found["graph_id"]),
            found["desired_schema_digest"],
            found["actor"],
            found["approval_id"],
        )
    except MALFORMED as error:
        refuse("invalid_recovery_sidecar", key, f"the intent cannot be read: {error}")


@frozen
class Approval:
    """The approval of one operation, bound to the digests that its approver saw."""

    approval_id: str
    resource: str
    operation: str
    approved_by: str
    config_digest: str
    before_digest: str | None

    def fits(self, resource: str, config_digest: str, before_digest: str | None) -> bool:
        bound = (self.resource, self.config_digest, self.before_digest)
        return bound == (resource, config_digest, before_digest)

    def to_json(self) -> dict[str, Any]:
        return {
            "schema_version": _VERSION,
            "approval_id": self.approval_id,
            "resource": self.resource,
            "operation": self.operation,
            "reason": "approval_required",
            "bound_config_digest": self.config_digest,
            "bound_before_digest": self.before_digest,
            "bound_after_digest": None,
            "approved_by": self.approved_by,
        }


class Approvals:
    """The approvals of one cluster root."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    def grant(self, approval: Approval) -> None:
        key = f"{_APPROVALS}/{approval.approval_id}.json"
        created = {"created_at": format_micros(SYSTEM_CLOCK.now_micros())}
        try:
            self._objects.put_if_absent(
                key, json.dumps({**approval.to_json(), **created}, indent=2).encode()
            )
        except GraphError as error:
            refuse("approval_write_error", key, error.message, remedy=error.remedy)

    def open(self) -> list[Approval]:
        """Return the approvals that no apply has consumed."""
        try:
            return list(self._open())
        except GraphError as error:
            refuse("approval_read_error", _APPROVALS, error.message)

    def consume(self, approval_id: str, operation: str) -> None:
        body = {
            "consumed_at": format_micros(SYSTEM_CLOCK.now_micros()),
            "consumed_by_operation": operation,
        }
        key = f"{_APPROVALS}/{approval_id}{_CONSUMED}.json"
        self._objects.put_if_absent(key, json.dumps(body, indent=2).encode())

    def _open(self) -> Iterator[Approval]:
        keys = self._objects.list(_APPROVALS)
        consumed = {key.replace(_CONSUMED, "") for key in keys if _CONSUMED in key}
        for key in keys:
            if _CONSUMED not in key and key not in consumed:
                yield _approval(key, self._objects.get(key))


def _approval(key: str, body: bytes) -> Approval:
    try:
        found = parse_json(body)
        if found["schema_version"] != _VERSION:
            refuse("unsupported_approval_version", key, f"{found['schema_version']!r}")
        return Approval(
            str(found["approval_id"]),
            str(found["resource"]),
            str(found["operation"]),
            str(found["approved_by"]),
            str(found["bound_config_digest"]),
            found["bound_before_digest"],
        )
    except MALFORMED as error:
        refuse("invalid_approval_artifact", key, f"the approval cannot be read: {error}")
