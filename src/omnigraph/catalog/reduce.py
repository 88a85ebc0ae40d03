"""Reduce a catalog to the types and properties that an actor may read.

Identities are unchanged, so a query compiled against the reduced catalog runs on the full one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from omnigraph.catalog.model import Catalog, EdgeType, NodeType

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.catalog.model import Interface, PropertyId

__all__ = ["reduce_catalog"]

E = TypeVar("E", NodeType, EdgeType)


def reduce_catalog(
    catalog: Catalog,
    can_read_type: Callable[[str], bool],
    can_read_property: Callable[[str, str], bool],
) -> Catalog:
    """Return the readable part of a catalog; the same object when all of it is readable.

    An edge type requires both endpoint types: otherwise it would reveal the other one.
    """
    nodes = tuple(
        _reduced(node, can_read_property) for node in catalog.nodes if can_read_type(node.name)
    )
    ids = {node.id for node in nodes}
    edges = tuple(
        _reduced(edge, can_read_property)
        for edge in catalog.edges
        if can_read_type(edge.name) and edge.source in ids and edge.target in ids
    )
    if nodes == catalog.nodes and edges == catalog.edges:
        return catalog
    interfaces = tuple(_reduced_interface(interface, nodes) for interface in catalog.interfaces)
    return Catalog(interfaces, nodes, edges)


def _reduced(entity: E, can_read: Callable[[str, str], bool]) -> E:
    hidden = {prop.id for prop in entity.properties if not can_read(entity.name, prop.name)}
    if not hidden:
        return entity

    def whole(members: tuple[PropertyId, ...]) -> bool:
        return hidden.isdisjoint(members)

    return replace(
        entity,
        properties=tuple(prop for prop in entity.properties if prop.id not in hidden),
        uniques=tuple(filter(whole, entity.uniques)),
        indexes=tuple(filter(whole, entity.indexes)),
        ranges=tuple(rule for rule in entity.ranges if rule.prop not in hidden),
        checks=tuple(rule for rule in entity.checks if rule.prop not in hidden),
        key=entity.key if entity.key is None or whole(entity.key) else None,
    )


def _reduced_interface(interface: Interface, nodes: tuple[NodeType, ...]) -> Interface:
    """Keep the properties that all readable implementations have; none without implementations."""
    implementing = [node for node in nodes if interface.name in node.interfaces]
    names = (
        set.intersection(*(set(node.by_name) for node in implementing)) if implementing else set()
    )
    return replace(
        interface,
        properties=tuple(prop for prop in interface.properties if prop.name in names),
        constraints=tuple(each for each in interface.constraints if names.issuperset(each[1])),
    )
