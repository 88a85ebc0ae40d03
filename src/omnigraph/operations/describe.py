"""The state of a graph at a glance."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from omnigraph.catalog.model import EntityKind
from omnigraph.frozen import frozen
from omnigraph.versioning.branches import list_branches
from omnigraph.versioning.refs import damage_to_json

if TYPE_CHECKING:
    from omnigraph.operations.engine import Engine
    from omnigraph.recovery.sweep import Pending
    from omnigraph.versioning.refs import DamagedRef

__all__ = ["Status", "describe"]


@frozen
class Status:
    """What ``omnigraph status`` shows."""

    uri: str
    graph_id: str
    internal_schema_version: int
    durability: str
    head: str
    schema: str
    branches: int
    tags: int
    node_types: int
    edge_types: int
    nodes: int
    edges: int
    # Unfinished writes: they block nobody, but somebody should know.
    pending: tuple[Pending, ...]
    # Branches and tags that cannot be read.
    damaged: tuple[DamagedRef, ...] = ()

    def to_json(self) -> dict[str, Any]:
        body = asdict(replace(self, damaged=()))
        del body["damaged"]
        return {**body, **damage_to_json(self.damaged)}


def describe(engine: Engine) -> Status:
    root = engine.root
    snapshot = engine.snapshot()
    catalog, pins = snapshot.catalog, snapshot.manifest.pins
    count = {
        kind: sum(pins[entity.id].rows for entity in catalog.types.values() if entity.kind is kind)
        for kind in EntityKind
    }
    branches, tags = list_branches(root, engine.heads), root.refs.tags()
    return Status(
        uri=root.objects.uri,
        graph_id=root.stamp.graph_id,
        internal_schema_version=root.stamp.internal_schema_version,
        durability=root.stamp.settings.durability,
        head=snapshot.commit_id,
        schema=snapshot.manifest.commit.schema,
        branches=len(branches),
        tags=len(tags),
        node_types=len(catalog.nodes),
        edge_types=len(catalog.edges),
        nodes=count[EntityKind.NODE],
        edges=count[EntityKind.EDGE],
        pending=tuple(engine.recovery.pending()),
        damaged=(*branches.damaged, *tags.damaged),
    )
