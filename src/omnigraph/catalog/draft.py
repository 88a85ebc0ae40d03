"""Expand interfaces into the nodes that implement them, before validation and identification.

Expansion tolerates errors such as unknown interfaces and repeated names: the checks report them
together with the errors in the rest of the schema.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from omnigraph.catalog.model import ENDPOINTS
from omnigraph.datatypes.types import spell_type
from omnigraph.language.pg.ast import EdgeDecl, InterfaceDecl, NodeDecl

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from omnigraph.language.pg.ast import Constraint, PropertyDecl, SchemaDocument

__all__ = ["AnyDraft", "Declaration", "Draft", "SchemaDraft", "draft_schema", "flatten_constraints"]

Declaration: TypeAlias = InterfaceDecl | NodeDecl | EdgeDecl
_Declared = TypeVar("_Declared", bound=Declaration)
_Declared_co = TypeVar("_Declared_co", bound=Declaration, covariant=True)


@dataclass(frozen=True)
class Draft(Generic[_Declared_co]):
    """A declaration with its inherited properties and constraints, which come first."""

    decl: _Declared_co
    properties: tuple[PropertyDecl, ...]
    constraints: tuple[Constraint, ...]

    @property
    def name(self) -> str:
        return self.decl.name

    @property
    def kind(self) -> str:
        """Return the keyword of the declaration."""
        match self.decl:
            case InterfaceDecl():
                return "interface"
            case NodeDecl():
                return "node"
            case EdgeDecl():
                return "edge"

    @cached_property
    def by_name(self) -> Mapping[str, PropertyDecl]:
        return {prop.name: prop for prop in self.properties}

    @property
    def own_constraints(self) -> tuple[Constraint, ...]:
        return flatten_constraints(self.decl)

    def is_endpoint(self, name: str) -> bool:
        """Return whether a name denotes an endpoint of this edge."""
        return isinstance(self.decl, EdgeDecl) and name in ENDPOINTS

    def spell(self, prop: PropertyDecl) -> str:
        """Format a property for messages."""
        return f"`{self.name}.{prop.name}: {spell_type(prop.dtype, nullable=prop.nullable)}`"

    def constraints_of(self, *names: str) -> Iterable[tuple[Constraint, PropertyDecl]]:
        """Yield the constraints of the given kinds with each of their existing properties."""
        for constraint in self.constraints:
            if constraint.name in names:
                for name in constraint.props:
                    if prop := self.by_name.get(name):
                        yield constraint, prop


AnyDraft: TypeAlias = Draft[Declaration]


@dataclass(frozen=True)
class SchemaDraft:
    """All declarations, in the order interfaces, nodes, edges."""

    interfaces: tuple[Draft[InterfaceDecl], ...]
    nodes: tuple[Draft[NodeDecl], ...]
    edges: tuple[Draft[EdgeDecl], ...]

    @cached_property
    def types(self) -> tuple[AnyDraft, ...]:
        return (*self.interfaces, *self.nodes, *self.edges)

    @cached_property
    def by_name(self) -> Mapping[str, AnyDraft]:
        """Map names to types; the first of two with the same name."""
        return {draft.name: draft for draft in reversed(self.types)}


def draft_schema(document: SchemaDocument) -> SchemaDraft:
    """Expand the interfaces of a schema into the nodes that implement them."""
    interfaces = {decl.name: decl for decl in document.interfaces}
    return SchemaDraft(
        tuple(_draft(decl, ()) for decl in document.interfaces),
        tuple(
            _draft(
                decl,
                tuple(interfaces[name] for name, _ in decl.implements if name in interfaces),
            )
            for decl in document.nodes
        ),
        tuple(_draft(decl, ()) for decl in document.edges),
    )


def flatten_constraints(decl: Declaration) -> tuple[Constraint, ...]:
    """Return the constraints on the properties of a declaration, then those in its body."""
    on_properties = (constraint for prop in decl.properties for constraint in prop.constraints)
    return (*on_properties, *decl.constraints)


def _draft(decl: _Declared, inherited: tuple[InterfaceDecl, ...]) -> Draft[_Declared]:
    owners: tuple[Declaration, ...] = (*inherited, decl)
    properties: dict[str, PropertyDecl] = {}
    for owner in owners:
        for prop in owner.properties:
            earlier = properties.get(prop.name)
            properties[prop.name] = _redeclare(earlier, prop) if earlier else prop
    constraints = (each for owner in owners for each in flatten_constraints(owner))
    return Draft(decl, tuple(properties.values()), tuple(constraints))


def _redeclare(earlier: PropertyDecl, again: PropertyDecl) -> PropertyDecl:
    """Return the later declaration with the annotations that it does not repeat."""
    repeated = {annotation.name for annotation in again.annotations}
    kept = (each for each in earlier.annotations if each.name not in repeated)
    return replace(again, annotations=(*kept, *again.annotations))
