"""The status of a graph, its unfinished writes, and the audit of recovery."""

from __future__ import annotations

from dataclasses import asdict, replace
from enum import StrEnum
from typing import Any

from omnigraph.api.refs import DamagedRef, damage_to_json
from omnigraph.frozen import frozen

__all__ = [
    "AuditRow",
    "PendingIntent",
    "RecoveryOutcome",
    "Status",
]


@frozen
class PendingIntent:
    """An intent that is still there, and why."""

    id: str
    reason: str
    branch: str | None = None
    kind: str | None = None
    actor: str | None = None


@frozen
class Status:
    """What ``omnigraph status`` shows."""

    uri: str
    graph_id: str
    internal_schema_version: int
    durability: str
    # Those of main; None while it is damaged.
    head: str | None
    schema: str | None
    branches: int
    tags: int
    node_types: int | None
    edge_types: int | None
    nodes: int | None
    edges: int | None
    # Unfinished writes: they block nobody, but somebody should know.
    pending: tuple[PendingIntent, ...]
    # Branches and tags that cannot be read.
    damaged: tuple[DamagedRef, ...] = ()

    def to_json(self) -> dict[str, Any]:
        body = asdict(replace(self, damaged=()))
        del body["damaged"]
        return {**body, **damage_to_json(self.damaged)}


class RecoveryOutcome(StrEnum):
    ROLLED_FORWARD = "rolled_forward"
    ROLLED_BACK = "rolled_back"
    ORPHANED_BRANCH_DISCARDED = "orphaned_branch_discarded"
    # A torn table or manifest version, moved aside.
    QUARANTINED = "quarantined"


@frozen
class AuditRow:
    """What recovery did with one operation."""

    operation_id: str
    outcome: RecoveryOutcome
    recovered_at_micros: int
    branch: str | None = None
    kind: str | None = None
    actor: str | None = None
    # Per table: where it was, and where the operation had brought it.
    tables: tuple[dict[str, Any], ...] = ()
    note: str | None = None
    # The commit that ended the operation: its own when rolled forward, the one that declares it
    # void when rolled back.
    recovery_commit_id: str | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
