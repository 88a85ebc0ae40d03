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
    """An unfinished intent, with the reason."""

    id: str
    reason: str
    branch: str | None = None
    kind: str | None = None
    actor: str | None = None


@frozen
class Status:
    """The status of a graph: identity, size, heads and problems."""

    uri: str
    graph_id: str
    internal_schema_version: int
    durability: str
    # Of main; None while main is damaged.
    head: str | None
    schema: str | None
    branches: int
    tags: int
    node_types: int | None
    edge_types: int | None
    nodes: int | None
    edges: int | None
    # Unfinished writes. They block no other writer, but may need attention.
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
    # A torn table or manifest version, quarantined.
    QUARANTINED = "quarantined"


@frozen
class AuditRow:
    """The outcome of recovery for one operation."""

    operation_id: str
    outcome: RecoveryOutcome
    recovered_at_micros: int
    branch: str | None = None
    kind: str | None = None
    actor: str | None = None
    # Per table: its version before the operation, and the version that the operation reached.
    tables: tuple[dict[str, Any], ...] = ()
    note: str | None = None
    # The commit that ended the operation: its own if rolled forward, the one that voids it if
    # rolled back.
    recovery_commit_id: str | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
