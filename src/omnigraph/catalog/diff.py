"""Plan the migration from an accepted catalog to a desired one.

Types and properties are compared by identity, so the desired catalog must have been built with the
accepted one as its predecessor. Planning reads no data: each step lists the conditions that the
data must meet.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from omnigraph.catalog.canonical import same_annotations, same_interface
from omnigraph.catalog.codes import MigrationCode
from omnigraph.catalog.diff_properties import diff_property
from omnigraph.catalog.diff_rules import diff_rules
from omnigraph.catalog.model import EdgeType, NodeType, TypeId
from omnigraph.catalog.steps import (
    AddConstraint,
    AddProperty,
    AddType,
    ChangeCardinality,
    ChangeConstraint,
    ChangeInterfaces,
    ChangeNullability,
    ChangeType,
    CheckKind,
    DataCheck,
    DropConstraint,
    DropMode,
    DropProperty,
    DropType,
    ExtendEnum,
    MigrationPlan,
    NarrowEnum,
    RenameProperty,
    RenameType,
    SchemaElement,
    TypeKind,
    UnsupportedChange,
    UpdatePropertyMetadata,
    UpdateTypeMetadata,
)
from omnigraph.datatypes.types import VectorType
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from omnigraph.catalog.model import Catalog, EntityType, Property, PropertyId
    from omnigraph.catalog.steps import Step

__all__ = ["plan_migration"]

# Renames first, so that later steps find the new names; then additions and relaxations, then
# restrictions, and drops last.
_ORDER: tuple[type[Step], ...] = (
    UnsupportedChange,
    RenameType,
    RenameProperty,
    AddType,
    AddProperty,
    ExtendEnum,
    ChangeType,
    DropConstraint,
    ChangeNullability,
    NarrowEnum,
    ChangeConstraint,
    AddConstraint,
    ChangeCardinality,
    ChangeInterfaces,
    UpdateTypeMetadata,
    UpdatePropertyMetadata,
    DropProperty,
    DropType,
)


_NO_BACKFILL: Mapping[PropertyId, str] = MappingProxyType({})
_NO_COUNTS: Mapping[TypeId, int] = MappingProxyType({})


def plan_migration(
    accepted: Catalog,
    desired: Catalog,
    *,
    allow_data_loss: bool = False,
    row_counts: Mapping[TypeId, int] = _NO_COUNTS,
    backfill: Mapping[PropertyId, str] = _NO_BACKFILL,
) -> MigrationPlan:
    """Return the ordered steps, including refused ones.

    Drops are soft unless data loss is allowed. ``row_counts`` has the rows of types, where
    they are known: types without rows may get required properties without a default. ``backfill``
    maps a property to the expression that computes its value in existing rows.
    """
    mode = DropMode.HARD if allow_data_loss else DropMode.SOFT
    steps: list[Step] = [
        *_diff_interfaces(accepted, desired),
        *_added_types(accepted, desired),
        *_dropped_types(accepted, desired, mode),
    ]
    for old in accepted.types.values():
        if new := desired.types.get(old.id):
            steps += _diff_entity(_Pair(old, new, mode, row_counts.get(old.id), backfill))
    return MigrationPlan(tuple(sorted(steps, key=lambda step: _ORDER.index(type(step)))))


# --- types -------------------------------------------------------------------------------------


def _diff_interfaces(accepted: Catalog, desired: Catalog) -> Iterator[Step]:
    """Record changes of interfaces, which have no data."""
    before = {each.name: each for each in accepted.interfaces}
    after = {each.name: each for each in desired.interfaces}
    for name, new in after.items():
        element = SchemaElement(TypeKind.INTERFACE, TypeId(""), name)
        old = before.get(name)
        if old is None:
            yield AddType(element=element)
        elif not same_interface(old, new):
            yield UpdateTypeMetadata(element=element, annotations=new.annotations)
    for name in before:
        if name not in after:
            yield DropType(
                element=SchemaElement(TypeKind.INTERFACE, TypeId(""), name), mode=DropMode.SOFT
            )


def _added_types(accepted: Catalog, desired: Catalog) -> Iterator[Step]:
    for entity in desired.types.values():
        if entity.id in accepted.types:
            continue
        check = _new_edge_check(entity, accepted)
        yield AddType(
            element=_element_of(entity),
            code=MigrationCode.TIGHTEN_CARDINALITY if check else None,
            checks=(check,) if check else (),
        )


def _new_edge_check(entity: EntityType, accepted: Catalog) -> DataCheck | None:
    """Return the cardinality check of a new edge type: existing nodes have no edges of it."""
    if isinstance(entity, EdgeType) and entity.card_low > 0 and entity.source in accepted.types:
        return _cardinality_check(entity)
    return None


def _dropped_types(accepted: Catalog, desired: Catalog, mode: DropMode) -> Iterator[Step]:
    """Drop edge types before the node types that they connect."""
    entities: list[EntityType] = [*accepted.edges, *accepted.nodes]
    for entity in entities:
        if entity.id not in desired.types:
            is_edge = isinstance(entity, EdgeType)
            code = MigrationCode.DROP_EDGE_TYPE if is_edge else MigrationCode.DROP_NODE_TYPE
            yield DropType(element=_element_of(entity), code=code, mode=mode)


# --- one type ----------------------------------------------------------------------------------


@frozen
class _Pair:
    old: EntityType
    new: EntityType
    mode: DropMode
    # None: unknown.
    rows: int | None
    backfill: Mapping[PropertyId, str]

    @property
    def is_empty(self) -> bool:
        return self.rows == 0


def _diff_entity(pair: _Pair) -> Iterator[Step]:
    old, new = pair.old, pair.new
    element = _element_of(new)
    if old.name != new.name:
        yield RenameType(element=element, old_name=old.name)
    if not same_annotations(old.annotations, new.annotations):
        yield UpdateTypeMetadata(element=element, annotations=new.annotations)
    if old.key != new.key:
        yield UnsupportedChange(
            element=element,
            code=MigrationCode.CHANGE_KEY,
            change="change_key",
            reason="the ids of existing entities are derived from the key",
            remedy="declare a new type with the new key, load it from an export, drop the old one",
        )
    yield from _diff_properties(pair)
    yield from diff_rules(old, new, element)
    if isinstance(old, NodeType) and isinstance(new, NodeType) and old.interfaces != new.interfaces:
        yield ChangeInterfaces(element=element, old=old.interfaces, new=new.interfaces)
    if isinstance(old, EdgeType) and isinstance(new, EdgeType):
        yield from _diff_edge(old, new)


def _diff_edge(old: EdgeType, new: EdgeType) -> Iterator[Step]:
    if (old.source, old.target) != (new.source, new.target):
        yield UnsupportedChange(
            element=_element_of(new),
            code=MigrationCode.CHANGE_ENDPOINTS,
            change="change_endpoints",
            reason="existing edges connect entities of other types",
            remedy="declare a new edge type, load it from an export, drop the old one",
        )
    before, after = (old.card_low, old.card_high), (new.card_low, new.card_high)
    if before != after:
        tighter = new.card_low > old.card_low or _is_below(new.card_high, old.card_high)
        yield ChangeCardinality(
            element=_element_of(new),
            code=MigrationCode.TIGHTEN_CARDINALITY if tighter else None,
            checks=(_cardinality_check(new),) if tighter else (),
            old=before,
            new=after,
        )


def _is_below(high: int | None, other: int | None) -> bool:
    """Return whether an upper bound is lower than another; None is unbounded."""
    return high is not None and (other is None or high < other)


def _cardinality_check(edge: EdgeType) -> DataCheck:
    return DataCheck(
        kind=CheckKind.CARDINALITY,
        type_id=edge.id,
        type_name=edge.name,
        low=edge.card_low,
        high=edge.card_high,
    )


# --- properties --------------------------------------------------------------------------------


def _diff_properties(pair: _Pair) -> Iterator[Step]:
    before = {prop.id: prop for prop in pair.old.properties}
    after = {prop.id: prop for prop in pair.new.properties}
    element = _element_of(pair.new)
    for prop in pair.new.properties:
        if old := before.get(prop.id):
            stale = _embedding_inputs(pair.old, old) != _embedding_inputs(pair.new, prop)
            filled = pair.backfill.get(prop.id)
            if refused := _changed_model(pair, old, prop):
                yield refused
            yield from diff_property(
                old, prop, element, embeds_otherwise=stale, fill_nulls_from=filled
            )
        else:
            yield _added_property(pair, prop)
    for prop in pair.old.properties:
        if prop.id not in after:
            is_vector = isinstance(prop.dtype, VectorType)
            yield DropProperty(
                element=element,
                prop=prop,
                code=MigrationCode.DROP_VECTOR_PROPERTY
                if is_vector
                else MigrationCode.DROP_PROPERTY,
                mode=pair.mode,
            )


def _changed_model(pair: _Pair, old: Property, new: Property) -> UnsupportedChange | None:
    """Refuse another model for stored vectors: distances between two models mean nothing."""
    before = old.annotations.keyword("embed", "model")
    after = new.annotations.keyword("embed", "model")
    if pair.is_empty or before in (None, after) or new.annotations.get("embed") is None:
        return None
    wanted = "the provider's own" if after is None else repr(after)
    cost = "its rows" if pair.rows is None else f"up to {pair.rows:,} rows"
    return UnsupportedChange(
        element=_element_of(pair.new),
        code=MigrationCode.CHANGE_MODEL,
        change="change_model",
        property_name=new.name,
        reason=f"stored vectors are of {before!r}, new ones would be of {wanted}; a change costs "
        f"embedding {cost} again",
        remedy="declare another vector property with the new model and fill it, then drop this one",
    )


def _embedding_inputs(entity: EntityType, prop: Property) -> object:
    """Return the inputs of an embedding: the identity of its source property and the model."""
    source = prop.annotations.get("embed")
    found = entity.by_name.get(str(source[0])) if source else None
    return found and found.id, prop.annotations.keyword("embed", "model")


def _added_property(pair: _Pair, prop: Property) -> Step:
    element = _element_of(pair.new)
    expression = pair.backfill.get(prop.id)
    needs_value = not prop.nullable and prop.default is None and expression is None
    if needs_value and not pair.is_empty:
        return UnsupportedChange(
            element=element,
            code=MigrationCode.REQUIRED_WITHOUT_DEFAULT,
            change="add_property",
            property_name=prop.name,
            reason="existing rows would have no value for it",
            remedy="add a `@default(…)` or a backfill, or make it optional with `?`",
        )
    checks: tuple[DataCheck, ...] = ()
    if needs_value:
        checks = (DataCheck(kind=CheckKind.NO_ROWS, type_id=pair.new.id, type_name=pair.new.name),)
    return AddProperty(
        element=element,
        prop=prop,
        code=MigrationCode.REQUIRED_WITHOUT_DEFAULT if checks else None,
        checks=checks,
        backfill=expression is not None or not (prop.nullable or checks),
        expression=expression,
    )


def _element_of(entity: EntityType) -> SchemaElement:
    return SchemaElement(TypeKind(entity.kind.value), entity.id, entity.name)
