"""Print a catalog as ``.pg``.

Parsing the text with the catalog as predecessor returns the same catalog. A node does not repeat
the declarations of its interfaces.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.catalog.draft import draft_schema
from omnigraph.language.pg.ast import (
    Annotation,
    Cardinality,
    Constraint,
    EdgeDecl,
    InterfaceDecl,
    NodeDecl,
    PropertyDecl,
    RangeBound,
    SchemaDocument,
)
from omnigraph.language.pg.printer import print_schema
from omnigraph.language.source import NO_SPAN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from omnigraph.catalog.draft import AnyDraft
    from omnigraph.catalog.model import (
        Annotations,
        Catalog,
        EdgeType,
        EntityType,
        Interface,
        NodeType,
        Property,
        PropertyId,
    )

__all__ = ["print_catalog", "to_document"]

# Printed after the property; the others are printed in the body.
_INLINE = ("key", "unique", "index")


def print_catalog(catalog: Catalog) -> str:
    """Return the schema as text, in canonical layout."""
    return print_schema(to_document(catalog))


def to_document(catalog: Catalog) -> SchemaDocument:
    """Return the syntax tree of a catalog, without positions."""
    interfaces = tuple(_interface(each) for each in catalog.interfaces)
    # Expanding nodes without own declarations yields the inherited ones.
    bare = tuple(_bare_node(node) for node in catalog.nodes)
    inherited = draft_schema(SchemaDocument(interfaces, bare, ())).nodes
    return SchemaDocument(
        interfaces,
        tuple(_node(*each) for each in zip(catalog.nodes, bare, inherited, strict=True)),
        tuple(_edge(edge, catalog) for edge in catalog.edges),
    )


# --- types -------------------------------------------------------------------------------------


def _interface(interface: Interface) -> InterfaceDecl:
    rules = (
        _constraint(name, props, low=low, high=high, pattern=pattern)
        for name, props, low, high, pattern in interface.constraints
    )
    properties, constraints = _body(interface.properties, rules)
    return InterfaceDecl(
        name=interface.name,
        properties=properties,
        constraints=constraints,
        annotations=_annotations(interface.annotations),
        span=NO_SPAN,
        name_span=NO_SPAN,
    )


def _bare_node(node: NodeType) -> NodeDecl:
    return NodeDecl(
        name=node.name,
        implements=tuple((name, NO_SPAN) for name in node.interfaces),
        properties=(),
        constraints=(),
        annotations=_annotations(node.annotations),
        span=NO_SPAN,
        name_span=NO_SPAN,
    )


def _node(node: NodeType, bare: NodeDecl, inherited: AnyDraft) -> NodeDecl:
    inherited_rules = {_content(constraint) for constraint in inherited.constraints}
    properties, constraints = _body(
        (prop for prop in node.properties if not _is_inherited(prop, inherited)),
        (constraint for constraint in _rules(node) if _content(constraint) not in inherited_rules),
    )
    return replace(bare, properties=properties, constraints=constraints)


def _is_inherited(prop: Property, inherited: AnyDraft) -> bool:
    """Compare annotations only: the checks require equal types."""
    found = inherited.by_name.get(prop.name)
    return found is not None and found.annotations == _annotations(prop.annotations)


def _edge(edge: EdgeType, catalog: Catalog) -> EdgeDecl:
    properties, constraints = _body(edge.properties, _rules(edge))
    unbounded = edge.card_low == 0 and edge.card_high is None
    return EdgeDecl(
        name=edge.name,
        source=catalog.types[edge.source].name,
        target=catalog.types[edge.target].name,
        cardinality=None if unbounded else Cardinality(edge.card_low, edge.card_high, NO_SPAN),
        properties=properties,
        constraints=constraints,
        annotations=_annotations(edge.annotations),
        span=NO_SPAN,
        name_span=NO_SPAN,
        source_span=NO_SPAN,
        target_span=NO_SPAN,
    )


# --- bodies ------------------------------------------------------------------------------------


def _body(
    properties: Iterable[Property], constraints: Iterable[Constraint]
) -> tuple[tuple[PropertyDecl, ...], tuple[Constraint, ...]]:
    """Return properties with their inline constraints, and the remaining constraints."""
    printed = list(properties)
    names = {prop.name for prop in printed}
    inline: dict[str, list[Constraint]] = {}
    remaining: list[Constraint] = []
    for constraint in constraints:
        single = constraint.props[0] if len(constraint.props) == 1 else None
        if single in names and constraint.name in _INLINE:
            inline.setdefault(single, []).append(replace(constraint, on_property=True))
        else:
            remaining.append(constraint)
    return tuple(_property(prop, inline.get(prop.name, ())) for prop in printed), tuple(remaining)


def _property(prop: Property, constraints: Iterable[Constraint]) -> PropertyDecl:
    return PropertyDecl(
        name=prop.name,
        dtype=prop.dtype,
        nullable=prop.nullable,
        annotations=_annotations(prop.annotations),
        constraints=tuple(constraints),
        span=NO_SPAN,
        name_span=NO_SPAN,
    )


def _rules(entity: EntityType) -> Iterator[Constraint]:
    def names(members: Iterable[PropertyId]) -> tuple[str, ...]:
        return tuple(entity.by_id[member].name for member in members)

    if entity.key is not None:
        yield _constraint("key", names(entity.key))
    for members in entity.uniques:
        yield _constraint("unique", names(members))
    for members in entity.indexes:
        yield _constraint("index", names(members))
    for each in entity.ranges:
        yield _constraint("range", names([each.prop]), low=each.low, high=each.high)
    for check in entity.checks:
        yield _constraint("check", names([check.prop]), pattern=check.pattern)


def _constraint(
    name: str,
    props: tuple[str, ...],
    *,
    low: int | float | None = None,
    high: int | float | None = None,
    pattern: str | None = None,
) -> Constraint:
    bound = RangeBound(low, high) if name == "range" else None
    return Constraint(name, props, bound, pattern, on_property=False, span=NO_SPAN)


def _content(constraint: Constraint) -> tuple[object, ...]:
    """Return the content of a constraint without its position."""
    return constraint.name, constraint.props, constraint.bound, constraint.pattern


def _annotations(annotations: Annotations) -> tuple[Annotation, ...]:
    return tuple(
        Annotation(name, args, kwargs, NO_SPAN) for name, args, kwargs in annotations.items
    )
