"""Describes the state of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.api.names import MAIN
from omnigraph.api.refs import DamagedRef
from omnigraph.api.status import Status
from omnigraph.catalog.model import EntityKind
from omnigraph.errors import StorageFault
from omnigraph.versioning.branches import list_branches

if TYPE_CHECKING:
    from omnigraph.session.engine import Engine
    from omnigraph.versioning.snapshot import Snapshot

__all__ = ["describe_status"]


# Permanent faults of reading the head of main.
_DAMAGE = frozenset(
    {
        "branch.damaged",
        "graph.main_missing",
        "ref.malformed",
        "schema.digest_mismatch",
        "schema.malformed",
        "schema.missing",
    }
)


def describe_status(engine: Engine) -> Status:
    """Describe a graph, even if its main branch is damaged."""
    root = engine.root
    branches, tags = list_branches(root, engine.heads), root.refs.tags()
    damaged = [*branches.damaged, *tags.damaged]
    snapshot: Snapshot | None = None
    try:
        snapshot = engine.snapshot()
    except StorageFault as fault:
        if fault.code not in _DAMAGE:
            raise
        if all(ref.name != MAIN for ref in branches.damaged):
            damaged.insert(0, DamagedRef(MAIN, fault))
    return Status(
        uri=root.objects.uri,
        graph_id=root.stamp.graph_id,
        internal_schema_version=root.stamp.internal_schema_version,
        durability=root.stamp.settings.durability,
        head=None if snapshot is None else snapshot.commit_id,
        schema=None if snapshot is None else snapshot.manifest.commit.schema,
        branches=len(branches),
        tags=len(tags),
        node_types=None if snapshot is None else len(snapshot.catalog.nodes),
        edge_types=None if snapshot is None else len(snapshot.catalog.edges),
        nodes=None if snapshot is None else _count(snapshot, EntityKind.NODE),
        edges=None if snapshot is None else _count(snapshot, EntityKind.EDGE),
        pending=tuple(engine.recovery.pending()),
        damaged=tuple(damaged),
    )


def _count(snapshot: Snapshot, kind: EntityKind) -> int:
    pins, types = snapshot.manifest.pins, snapshot.catalog.types.values()
    return sum(pins[entity.id].rows for entity in types if entity.kind is kind)
