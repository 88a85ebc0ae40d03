"""The catalog: a schema with stable identities."""

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
    NODE = "node"
    EDGE = "edge"


@frozen
class Annotations:
    """Annotations in source order: name, positional values, keyword values."""

    items: tuple[
        tuple[str, tuple[AnnotationValue, ...], tuple[tuple[str, AnnotationValue], ...]], ...
    ]

    def get(self, name: str) -> tuple[AnnotationValue, ...] | None:
        """The positional values of one annotation, or None when it is absent."""
        return next((args for found, args, _ in self.items if found == name), None)

    def keyword(self, name: str, key: str) -> AnnotationValue | None:
        """One keyword value of one annotation."""
        for found, _, kwargs in self.items:
            if found == name:
                return dict(kwargs).get(key)
        return None


NO_ANNOTATIONS = Annotations(())


@frozen
class Property:
    """A property. ``column`` is its Lance column: given at birth and kept through renames."""

    id: PropertyId
    name: str
    column: str
    dtype: DataType
    nullable: bool
    annotations: Annotations = NO_ANNOTATIONS

    @property
    def default(self) -> AnnotationValue | None:
        """The value of ``@default``, as written."""
        args = self.annotations.get("default")
        return args[0] if args else None


@frozen
class Range:
    """``@range``: both bounds included, a missing one open."""

    prop: PropertyId
    low: int | float | None
    high: int | float | None


@frozen
class Check:
    """``@check``: the whole value must match the pattern."""

    prop: PropertyId
    pattern: str


# The physical columns that every table has; they are readable in queries under these names.
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
    # The key, in declared order; on edges it may hold ``@src`` and ``@dst``. None: ids are
    # generated.
    key: tuple[PropertyId, ...] | None
    annotations: Annotations

    @cached_property
    def by_name(self) -> Mapping[str, Property]:
        return {prop.name: prop for prop in self.properties}

    @cached_property
    def by_id(self) -> Mapping[PropertyId, Property]:
        """Properties by identity, the physical columns included."""
        return {prop.id: prop for prop in (ID, SRC, DST, *self.properties)}


@dataclass(frozen=True)
class NodeType(_Entity):
    interfaces: tuple[str, ...] = ()

    kind = EntityKind.NODE

    def find(self, name: str) -> Property | None:
        """A property that queries may name: a declared one, or ``id``."""
        return ID if name == "id" else self.by_name.get(name)


@dataclass(frozen=True)
class EdgeType(_Entity):
    source: TypeId = TypeId("")
    target: TypeId = TypeId("")
    # How many edges of this type may leave one source node; None is unbounded.
    card_low: int = 0
    card_high: int | None = None

    kind = EntityKind.EDGE

    def find(self, name: str) -> Property | None:
        """A property that queries may name: a declared one, ``id``, or an endpoint."""
        return ID if name == "id" else self.by_name.get(name) or ENDPOINTS.get(name)


EntityType = NodeType | EdgeType


def stored_properties(entity: EntityType) -> tuple[Property, ...]:
    """Everything that has a column, in the order of the table."""
    ends = (SRC, DST) if isinstance(entity, EdgeType) else ()
    return (ID, *ends, *entity.properties)


@frozen
class Interface:
    """Kept for printing; its properties are already expanded into the nodes that implement it.

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
    """An accepted schema. Types are kept in source order; lookups are by name and by identity."""

    interfaces: tuple[Interface, ...]
    nodes: tuple[NodeType, ...]
    edges: tuple[EdgeType, ...]
    # The ids of what was dropped: nothing that comes later may have one of them.
    retired: tuple[str, ...] = ()
    _by_name: dict[str, EntityType] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        # Edges are matched without regard to case, so they are filed under their folded name too.
        names: dict[str, EntityType] = {edge.name.casefold(): edge for edge in self.edges}
        names |= {edge.name: edge for edge in self.edges}
        names |= {node.name: node for node in self.nodes}
        object.__setattr__(self, "_by_name", names)

    def __repr__(self) -> str:
        return f"<Catalog of {len(self.nodes)} node types, {len(self.edges)} edge types>"

    def _repr_html_(self) -> str:
        """A drawing of the types for notebooks."""
        from omnigraph.pictures.types import Arrow, Box, draw_types  # noqa: PLC0415 - only here

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
        """A node type by name."""
        found = self._by_name.get(name)
        return found if isinstance(found, NodeType) else None

    def edge(self, name: str) -> EdgeType | None:
        """An edge type by name, case ignored."""
        found = self._by_name.get(name) or self._by_name.get(name.casefold())
        return found if isinstance(found, EdgeType) else self._folded_edge(name)

    def entity(self, name: str) -> EntityType | None:
        """A node type by exact name, else an edge type."""
        return self.node(name) or self.edge(name)

    def node_by_id(self, type_id: TypeId) -> NodeType:
        """A node type by the id that survives renames."""
        found = self.types[type_id]
        assert isinstance(found, NodeType)  # noqa: S101 - narrowing; ids in a catalog are consistent
        return found

    def edge_by_id(self, type_id: TypeId) -> EdgeType:
        """An edge type by the id that survives renames."""
        found = self.types[type_id]
        assert isinstance(found, EdgeType)  # noqa: S101 - narrowing; ids in a catalog are consistent
        return found

    def incident_edges(self, node_id: TypeId) -> tuple[EdgeType, ...]:
        """The edge types that may touch a node type: where a delete of its nodes cascades."""
        return tuple(edge for edge in self.edges if node_id in (edge.source, edge.target))

    def _folded_edge(self, name: str) -> EdgeType | None:
        folded = name.casefold()
        return next((edge for edge in self.edges if edge.name.casefold() == folded), None)


def own_ids(catalog: Catalog) -> set[str]:
    """The ids of all types and properties."""
    found: set[str] = set()
    for entity in catalog.types.values():
        found |= {entity.id, *(prop.id for prop in entity.properties)}
    return found


def retired_ids(catalog: Catalog, older: Iterable[Catalog]) -> tuple[str, ...]:
    """What older catalogs had, or had dropped, and this one has not."""
    living, gone = own_ids(catalog), set[str]()
    for each in older:
        gone |= {*each.retired, *each.types}
        # The properties of a type that is gone need not be remembered: its id is.
        for entity in each.types.values():
            if entity.id in living:
                gone |= {prop.id for prop in entity.properties}
    return tuple(sorted(gone - living))
