"""What a hop relates: the sets of nodes that can be reached, and the edges that connect.

Nodes are (type, id) pairs, because ids are unique only within a type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from omnigraph.catalog.model import EdgeType
    from omnigraph.executor.budget import Meter
    from omnigraph.executor.naive.tables import StoredEntity, Tables
    from omnigraph.executor.naive.values import Entity
    from omnigraph.ir.queries import Hop

__all__ = ["Hops", "Node", "reach"]

Node = tuple[str, str]


def reach(
    start: Node, neighbours: Callable[[Node], Iterable[Node]], low: int, high: int
) -> frozenset[Node]:
    """Nodes found by a breadth-first search at a depth between the bounds.

    No node is entered twice. A loop reports its node again one step deeper, and goes no further.
    """
    found = {start} if low == 0 else set()
    visited, frontier, depth = {start}, {start}, 0
    while frontier and depth < high:
        depth += 1
        entered: set[Node] = set()
        looped: set[Node] = set()
        for node in frontier:
            for neighbour in neighbours(node):
                if neighbour == node:
                    looped.add(node)
                elif neighbour not in visited:
                    entered.add(neighbour)
        if depth >= low:
            found |= entered | looped
        visited |= entered
        frontier = entered
    return frozenset(found)


class Hops:
    """The hop relations of one snapshot."""

    def __init__(self, tables: Tables, meter: Meter) -> None:
        self._tables = tables
        self._meter = meter
        self._targets: dict[tuple[Hop, str], frozenset[str]] = {}

    def targets(self, hop: Hop, source: Entity) -> frozenset[str]:
        """The ids that the hop relates to ``source``: a set, however many edges lead there."""
        key = (hop, source.id)
        if key not in self._targets:
            self._targets[key] = self._find_targets(hop, source.id)
        return self._targets[key]

    def _find_targets(self, hop: Hop, source_id: str) -> frozenset[str]:
        edge_type = self._edge_type(hop)
        found = reach(
            (edge_type.source, source_id),
            lambda node: self._neighbours(hop, node),
            hop.min_hops,
            hop.max_hops,
        )
        return frozenset(node_id for type_id, node_id in found if type_id == edge_type.target)

    def connects(self, hop: Hop, edge: Entity, source: Entity, target: Entity) -> bool:
        """Whether a bound edge leads from source to target, or back when the hop is undirected."""
        ends = (edge.value("@src"), edge.value("@dst"))
        forward = ends == (source.id, target.id)
        return forward or (hop.undirected and ends == (target.id, source.id))

    def edges_at(self, hop: Hop, node: Entity, *, leaving: bool) -> list[StoredEntity]:
        """The edges that leave (or enter) a node, both kinds when the hop is undirected."""
        edges = self._tables.of(hop.edge_type)
        first, second = (
            (edges.leaving, edges.entering) if leaving else (edges.entering, edges.leaving)
        )
        found = {edge.id: edge for edge in first.get(node.id, ())}
        if hop.undirected:
            found |= {edge.id: edge for edge in second.get(node.id, ())}
        return list(found.values())

    def _neighbours(self, hop: Hop, node: Node) -> set[Node]:
        self._meter.tick()
        type_id, node_id = node
        edge_type, edges = self._edge_type(hop), self._tables.of(hop.edge_type)
        found: set[Node] = set()
        if type_id == edge_type.source:
            leaving = edges.leaving.get(node_id, ())
            found |= {(edge_type.target, str(edge.value("@dst"))) for edge in leaving}
        if hop.undirected and type_id == edge_type.target:
            entering = edges.entering.get(node_id, ())
            found |= {(edge_type.source, str(edge.value("@src"))) for edge in entering}
        return found

    def _edge_type(self, hop: Hop) -> EdgeType:
        return cast("EdgeType", self._tables.of(hop.edge_type).type)
