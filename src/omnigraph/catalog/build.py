"""Build a catalog from a syntax tree: expand, check, identify, resolve."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.catalog.checks import check_schema
from omnigraph.catalog.checks.metadata import check_spelling
from omnigraph.catalog.checks.renames import check_renames_of_nothing, check_renames_onto_known
from omnigraph.catalog.checks.size import check_size
from omnigraph.catalog.draft import draft_schema
from omnigraph.catalog.identity import Identities
from omnigraph.catalog.model import (
    ENDPOINTS,
    Annotations,
    Catalog,
    Check,
    EdgeType,
    Interface,
    NodeType,
    Property,
    PropertyId,
    Range,
    TypeId,
    retired_ids,
)
from omnigraph.datatypes.types import FLOATS, ScalarType
from omnigraph.errors import SchemaFailure
from omnigraph.language.diagnostics import failure
from omnigraph.language.pg.annotations import CONSTRAINTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from omnigraph.catalog.draft import AnyDraft, Draft
    from omnigraph.datatypes.types import DataType
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.pg.ast import (
        Annotation,
        Constraint,
        EdgeDecl,
        InterfaceDecl,
        NodeDecl,
        PropertyDecl,
        SchemaDocument,
    )
    from omnigraph.language.source import Source

__all__ = ["build_catalog", "schema_warnings"]

# Interfaces have no table, so their properties need no identity.
_NO_ID = PropertyId("")


def build_catalog(
    document: SchemaDocument,
    source: Source,
    *,
    previous: Catalog | None = None,
    mint: Callable[[], str] | None = None,
) -> Catalog:
    """Build the catalog of a schema; raise ``SchemaFailure`` with all independent errors.

    Types and properties of ``previous`` keep their identity, also through ``@rename_from``.
    ``mint`` generates the identities of new ones, if given.
    """
    if problems := list(check_size(document)):
        raise failure(SchemaFailure, source, problems)
    schema = draft_schema(document)
    if problems := check_schema(schema):
        raise failure(SchemaFailure, source, problems)
    if previous:
        problems = [*check_renames_onto_known(schema, previous)]
        problems = problems or [*check_renames_of_nothing(schema, previous)]
        if problems:
            raise failure(SchemaFailure, source, problems)
    identities = Identities(previous, schema.by_name, mint)
    nodes = tuple(_build_node(draft, identities) for draft in schema.nodes)
    node_ids = {node.name: node.id for node in nodes}
    edges = tuple(_build_edge(draft, identities, node_ids) for draft in schema.edges)
    interfaces = tuple(_build_interface(draft) for draft in schema.interfaces)
    catalog = Catalog(interfaces, nodes, edges)
    return replace(catalog, retired=retired_ids(catalog, [previous])) if previous else catalog


def schema_warnings(document: SchemaDocument) -> list[Diagnostic]:
    """Return the warnings of a valid schema."""
    return list(check_spelling(draft_schema(document)))


# --- types -------------------------------------------------------------------------------------


def _build_interface(draft: Draft[InterfaceDecl]) -> Interface:
    rules = _Rules(draft, {prop.name: PropertyId(prop.name) for prop in draft.properties})
    return Interface(
        name=draft.name,
        properties=tuple(
            Property(
                _NO_ID,
                decl.name,
                decl.name,
                decl.dtype,
                nullable=decl.nullable,
                annotations=_annotations(decl.annotations),
            )
            for decl in draft.properties
        ),
        constraints=rules.by_property_name(),
        annotations=_annotations(draft.decl.annotations),
    )


def _build_node(draft: Draft[NodeDecl], identities: Identities) -> NodeType:
    predecessor = identities.node(draft)
    type_id = identities.type_id(draft, predecessor)
    properties = _build_properties(identities.properties(draft, type_id, predecessor))
    rules = _Rules(draft, {prop.name: prop.id for prop in properties})
    return NodeType(
        id=type_id,
        name=draft.name,
        properties=properties,
        uniques=rules.members("unique"),
        indexes=rules.members("index"),
        ranges=rules.ranges(),
        checks=rules.checks(),
        key=next(iter(rules.members("key")), None),
        annotations=_annotations(draft.decl.annotations),
        interfaces=tuple(name for name, _ in draft.decl.implements),
    )


def _build_edge(
    draft: Draft[EdgeDecl], identities: Identities, nodes: Mapping[str, TypeId]
) -> EdgeType:
    predecessor = identities.edge(draft)
    type_id = identities.type_id(draft, predecessor)
    properties = _build_properties(identities.properties(draft, type_id, predecessor))
    ends = {name: end.id for name, end in ENDPOINTS.items()}
    rules = _Rules(draft, ends | {prop.name: prop.id for prop in properties})
    decl = draft.decl
    return EdgeType(
        id=type_id,
        name=draft.name,
        properties=properties,
        uniques=rules.members("unique"),
        indexes=rules.members("index"),
        ranges=rules.ranges(),
        checks=rules.checks(),
        key=next(iter(rules.members("key")), None),
        annotations=_annotations(decl.annotations),
        source=nodes[decl.source],
        target=nodes[decl.target],
        card_low=decl.cardinality.low if decl.cardinality else 0,
        card_high=decl.cardinality.high if decl.cardinality else None,
    )


def _build_properties(
    identified: Iterable[tuple[PropertyDecl, PropertyId, str]],
) -> tuple[Property, ...]:
    return tuple(
        Property(
            id=identity,
            name=decl.name,
            column=column,
            dtype=decl.dtype,
            nullable=decl.nullable,
            annotations=_annotations(decl.annotations),
        )
        for decl, identity, column in identified
    )


def _annotations(annotations: Iterable[Annotation]) -> Annotations:
    """Convert annotations, except ``@rename_from``, which describes a change and not the schema."""
    return Annotations(
        tuple(
            (annotation.name, annotation.args, annotation.kwargs)
            for annotation in annotations
            if annotation.name != "rename_from"
        )
    )


# --- constraints -------------------------------------------------------------------------------


class _Rules:
    """The resolved constraints of a type, deduplicated, in the order of its properties.

    The source order of constraints has no meaning, so the catalog does not keep it.
    """

    def __init__(self, draft: AnyDraft, ids: Mapping[str, PropertyId]) -> None:
        self._draft = draft
        self._ids = ids
        positions = {prop: position for position, prop in enumerate(dict.fromkeys(ids.values()))}
        self._sorted = sorted(
            draft.constraints,
            key=lambda each: [positions[ids[name]] for name in each.props],
        )

    def members(self, kind: str) -> tuple[tuple[PropertyId, ...], ...]:
        named = (tuple(self._ids[name] for name in each.props) for each in self._of(kind))
        return tuple(dict.fromkeys(named))

    def ranges(self) -> tuple[Range, ...]:
        found = []
        for each in self._of("range"):
            low, high = _bounds(each, self._draft.by_name[each.props[0]].dtype)
            found.append(Range(self._ids[each.props[0]], low, high))
        return tuple(dict.fromkeys(found))

    def checks(self) -> tuple[Check, ...]:
        found = (Check(self._ids[each.props[0]], each.pattern or "") for each in self._of("check"))
        return tuple(dict.fromkeys(found))

    def by_property_name(
        self,
    ) -> tuple[
        tuple[str, tuple[str, ...], int | float | None, int | float | None, str | None], ...
    ]:
        """Return the constraints by property name, grouped by kind, for an interface."""
        return tuple(
            dict.fromkeys(
                (
                    each.name,
                    each.props,
                    *_bounds(each, self._draft.by_name[each.props[0]].dtype),
                    each.pattern,
                )
                for kind in CONSTRAINTS
                for each in self._of(kind)
            )
        )

    def _of(self, kind: str) -> Iterable[Constraint]:
        return (each for each in self._sorted if each.name == kind)


def _bounds(
    constraint: Constraint, dtype: DataType
) -> tuple[int | float | None, int | float | None]:
    """Convert bounds to the property's type: ``0..1`` of an F64 is ``0.0..1.0``."""
    bound = constraint.bound
    if bound is None:
        return None, None
    if not (isinstance(dtype, ScalarType) and dtype.scalar in FLOATS):
        return bound.low, bound.high
    return (
        None if bound.low is None else float(bound.low),
        None if bound.high is None else float(bound.high),
    )
