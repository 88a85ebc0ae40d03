"""A catalog without some of its types and properties: what somebody sees who may not see all.

Identities stay, so what is compiled against the rest runs on the whole.
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
    sees_type: Callable[[str], bool],
    sees_property: Callable[[str, str], bool],
) -> Catalog:
    """The catalog of what is seen; the same object when that is all of it.

    An edge is seen only with both of its ends: it would tell that the hidden one is there.
    """
    nodes = tuple(_reduced(node, sees_property) for node in catalog.nodes if sees_type(node.name))
    ids = {node.id for node in nodes}
    edges = tuple(
        _reduced(edge, sees_property)
        for edge in catalog.edges
        if sees_type(edge.name) and edge.source in ids and edge.target in ids
    )
    if nodes == catalog.nodes and edges == catalog.edges:
        return catalog
    interfaces = tuple(_seen(interface, nodes) for interface in catalog.interfaces)
    return Catalog(interfaces, nodes, edges)


def _reduced(entity: E, sees: Callable[[str, str], bool]) -> E:
    hidden = {prop.id for prop in entity.properties if not sees(entity.name, prop.name)}
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


def _seen(interface: Interface, nodes: tuple[NodeType, ...]) -> Interface:
    """An interface has what all of its nodes show; one without nodes shows nothing."""
    showing = [node for node in nodes if interface.name in node.interfaces]
    names = set.intersection(*(set(node.by_name) for node in showing)) if showing else set()
    return replace(
        interface,
        properties=tuple(prop for prop in interface.properties if prop.name in names),
        constraints=tuple(each for each in interface.constraints if names.issuperset(each[1])),
    )
