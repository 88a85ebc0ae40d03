"""Define the catalog: a schema with stable identities."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, NewType

from omnigraph.datatypes.types import STRING, DataType, spell_type
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "ENDPOINTS",
    "ID",
    "NO_ANNOTATIONS",
    "AnnotationValue",
    "Annotations",
    "Catalog",
    "Check",
    "EdgeType",
    "EntityKind",
    "EntityType",
    "Interface",
    "NodeType",
    "Property",
    "PropertyId",
    "Range",
    "TypeId",
    "own_ids",
    "retired_ids",
    "stored_properties",
]

TypeId = NewType("TypeId", str)
PropertyId = NewType("PropertyId", str)

AnnotationValue = str | int | float | bool


class EntityKind(StrEnum):
    """Distinguish node types from edge types."""

    NODE = "node"
    EDGE = "edge"


@frozen
class Annotations:
    """Annotations in source order: name, positional values, keyword values."""

    items: tuple[
        tuple[str, tuple[AnnotationValue, ...], tuple[tuple[str, AnnotationValue], ...]], ...
    ]

    def get(self, name: str) -> tuple[AnnotationValue, ...] | None:
        """Return the positional values of an annotation, or None when it is absent."""
        return next((args for found, args, _ in self.items if found == name), None)

    def keyword(self, name: str, key: str) -> AnnotationValue | None:
        """Return one keyword value of an annotation, or None."""
        for found, _, kwargs in self.items:
            if found == name:
                return dict(kwargs).get(key)
        return None


NO_ANNOTATIONS = Annotations(())


@frozen
class Property:
    """A property; ``column`` is its Lance column, assigned on creation and kept through renames."""

    id: PropertyId
    name: str
    column: str
    dtype: DataType
    nullable: bool
    annotations: Annotations = NO_ANNOTATIONS

    @property
    def default(self) -> AnnotationValue | None:
        """Return the value of ``@default``, as written."""
        args = self.annotations.get("default")
        return args[0] if args else None


@frozen
class Range:
    """A ``@range`` constraint: bounds are inclusive, None is unbounded."""

    prop: PropertyId
    low: int | float | None
    high: int | float | None


@frozen
class Check:
    """A ``@check`` constraint: the whole value must match the pattern."""

    prop: PropertyId
    pattern: str


# Physical columns of every table; queries read them under these names.
ID = Property(PropertyId("@id"), "id", "id", STRING, nullable=False)
SRC = Property(PropertyId("@src"), "src", "src", STRING, nullable=False)
DST = Property(PropertyId("@dst"), "dst", "dst", STRING, nullable=False)
# Edges spell their endpoints src/dst or from/to.
ENDPOINTS: Mapping[str, Property] = {"src": SRC, "from": SRC, "dst": DST, "to": DST}


@dataclass(frozen=True)
class _Entity:
    id: TypeId
    name: str
    properties: tuple[Property, ...]
    uniques: tuple[tuple[PropertyId, ...], ...]
    indexes: tuple[tuple[PropertyId, ...], ...]
    ranges: tuple[Range, ...]
    checks: tuple[Check, ...]
    # In declared order; on edges it may contain ``@src`` and ``@dst``. None: ids are generated.
    key: tuple[PropertyId, ...] | None
    annotations: Annotations

    @cached_property
    def by_name(self) -> Mapping[str, Property]:
        return {prop.name: prop for prop in self.properties}

    @cached_property
    def by_id(self) -> Mapping[PropertyId, Property]:
        """Map identities to properties, including the physical columns."""
        return {prop.id: prop for prop in (ID, SRC, DST, *self.properties)}


@dataclass(frozen=True)
class NodeType(_Entity):
    """A node type; interface properties are already expanded into it."""

    interfaces: tuple[str, ...] = ()

    kind = EntityKind.NODE

    def find(self, name: str) -> Property | None:
        """Find a property that queries may name: a declared one, or ``id``."""
        return ID if name == "id" else self.by_name.get(name)


@dataclass(frozen=True)
class EdgeType(_Entity):
    """An edge type between two node types."""

    source: TypeId = TypeId("")
    target: TypeId = TypeId("")
    # Number of edges of this type per source node; None is unbounded.
    card_low: int = 0
    card_high: int | None = None

    kind = EntityKind.EDGE

    def find(self, name: str) -> Property | None:
        """Find a property that queries may name: a declared one, ``id``, or an endpoint."""
        return ID if name == "id" else self.by_name.get(name) or ENDPOINTS.get(name)


EntityType = NodeType | EdgeType


def stored_properties(entity: EntityType) -> tuple[Property, ...]:
    """Return every property with a column, in table order."""
    ends = (SRC, DST) if isinstance(entity, EdgeType) else ()
    return (ID, *ends, *entity.properties)


@frozen
class Interface:
    """An interface, kept for printing: its properties are expanded into the implementing nodes.

    ``constraints`` are spelled as written: (name, property names, low, high, pattern).
    """

    name: str
    properties: tuple[Property, ...]
    constraints: tuple[
        tuple[str, tuple[str, ...], int | float | None, int | float | None, str | None], ...
    ]
    annotations: Annotations


def _declared(prop: Property) -> str:
    return f"{prop.name}: {spell_type(prop.dtype, nullable=prop.nullable)}"


@dataclass(frozen=True)
class Catalog:
    """An accepted schema: types in source order, with lookup by name and by identity."""

    interfaces: tuple[Interface, ...]
    nodes: tuple[NodeType, ...]
    edges: tuple[EdgeType, ...]
    # Identities of dropped types and properties; they are never reused.
    retired: tuple[str, ...] = ()
    _by_name: dict[str, EntityType] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        # Edge names are case-insensitive, so the lookup contains their folded names too.
        names: dict[str, EntityType] = {edge.name.casefold(): edge for edge in self.edges}
        names |= {edge.name: edge for edge in self.edges}
        names |= {node.name: node for node in self.nodes}
        object.__setattr__(self, "_by_name", names)

    def __repr__(self) -> str:
        return f"<Catalog of {len(self.nodes)} node types, {len(self.edges)} edge types>"

    def _repr_html_(self) -> str:
        """Render the types as a graph for notebooks."""
        from omnigraph.notebook.schema_graph import Arrow, Box, draw_types  # noqa: PLC0415 - only here

        boxes = [Box(node.name, tuple(map(_declared, node.properties))) for node in self.nodes]
        arrows = [
            Arrow(edge.name, self.node_by_id(edge.source).name, self.node_by_id(edge.target).name)
            for edge in self.edges
        ]
        return draw_types(boxes, arrows)

    @cached_property
    def types(self) -> Mapping[TypeId, EntityType]:
        entities: tuple[EntityType, ...] = (*self.nodes, *self.edges)
        return {entity.id: entity for entity in entities}

    def node(self, name: str) -> NodeType | None:
        """Find a node type by name."""
        found = self._by_name.get(name)
        return found if isinstance(found, NodeType) else None

    def edge(self, name: str) -> EdgeType | None:
        """Find an edge type by name, ignoring case."""
        found = self._by_name.get(name) or self._by_name.get(name.casefold())
        return found if isinstance(found, EdgeType) else self._folded_edge(name)

    def entity(self, name: str) -> EntityType | None:
        """Find a node type by exact name, else an edge type."""
        return self.node(name) or self.edge(name)

    def node_by_id(self, type_id: TypeId) -> NodeType:
        """Return a node type by its stable identity."""
        found = self.types[type_id]
        assert isinstance(found, NodeType)  # noqa: S101 - narrowing; ids in a catalog are consistent
        return found

    def edge_by_id(self, type_id: TypeId) -> EdgeType:
        """Return an edge type by its stable identity."""
        found = self.types[type_id]
        assert isinstance(found, EdgeType)  # noqa: S101 - narrowing; ids in a catalog are consistent
        return found

    def incident_edges(self, node_id: TypeId) -> tuple[EdgeType, ...]:
        """Return the edge types that deletes of a node type cascade to."""
        return tuple(edge for edge in self.edges if node_id in (edge.source, edge.target))

    def _folded_edge(self, name: str) -> EdgeType | None:
        folded = name.casefold()
        return next((edge for edge in self.edges if edge.name.casefold() == folded), None)


def own_ids(catalog: Catalog) -> set[str]:
    """Return the identities of all types and properties."""
    found: set[str] = set()
    for entity in catalog.types.values():
        found |= {entity.id, *(prop.id for prop in entity.properties)}
    return found


def retired_ids(catalog: Catalog, older: Iterable[Catalog]) -> tuple[str, ...]:
    """Return the identities that older catalogs used or retired and this one does not use."""
    live, retired = own_ids(catalog), set[str]()
    for each in older:
        retired |= {*each.retired, *each.types}
        # A dropped type retires its properties with it.
        for entity in each.types.values():
            if entity.id in live:
                retired |= {prop.id for prop in entity.properties}
    return tuple(sorted(retired - live))
