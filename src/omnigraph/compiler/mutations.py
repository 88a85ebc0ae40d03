"""``insert``, ``create``, ``replace``, ``update`` and ``delete``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.catalog.model import DST, ENDPOINTS, SRC, EdgeType, NodeType
from omnigraph.compiler.assignments import lower_value
from omnigraph.compiler.expressions import lower_condition
from omnigraph.compiler.rules import (
    empty_update,
    endpoint_update,
    key_update,
    keyed_replace,
    mutation_property,
    mutation_type,
    repeated_assignment,
    required_value,
)
from omnigraph.compiler.scope import EntityScope
from omnigraph.datatypes.types import VectorType
from omnigraph.ir.queries import Assignment, Delete, Insert, InsertMode, StatementIR, Update
from omnigraph.language.gq import ast

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from omnigraph.catalog.model import Property
    from omnigraph.compiler.unit import CompilationUnit
    from omnigraph.ir import expressions as ir

__all__ = ["lower_statement"]

_ENDS = {SRC.id: "from", DST.id: "to"}


def lower_statement(unit: CompilationUnit, node: ast.Statement) -> StatementIR | None:
    """One statement; None where it is wrong, and that was reported."""
    entity = unit.catalog.entity(node.type_name)
    if entity is None:
        unit.report(mutation_type.unknown(unit.catalog, node))
        return None
    scope = EntityScope(unit, entity, None if isinstance(node, ast.Insert) else node.variable)
    unit.writes(entity)
    match node:
        case ast.Insert():
            return _lower_insert(scope, node)
        case ast.Update():
            return _lower_update(scope, node)
        case ast.Delete():
            return _lower_delete(scope, node)


def _lower_insert(scope: EntityScope, node: ast.Insert) -> Insert | None:
    entity, unit = scope.entity, scope.unit
    if isinstance(entity, EdgeType):
        unit.reads(unit.catalog.node_by_id(entity.source))
        unit.reads(unit.catalog.node_by_id(entity.target))
    found_before = len(unit.findings)
    unit.fails(keyed_replace.check(entity, node))
    targets = [(item, _inserted_property(scope, item)) for item in node.assignments]
    values = _lower_values(scope, targets)
    # A misspelled name is not also a missing one.
    if all(prop is not None for _, prop in targets):
        assigned = {prop.id for _, prop in targets if prop is not None}
        missing = list(_missing(scope, node.verb, assigned))
        if missing:
            unit.report(required_value.missing(entity, node.verb, missing, node.type_span))
    if len(unit.findings) > found_before:
        return None
    source, target = values.pop(SRC.id, None), values.pop(DST.id, None)
    mode = InsertMode(node.verb.value)
    return Insert(mode, entity.id, entity.kind.value, _assignments(values), source, target)


def _lower_update(scope: EntityScope, node: ast.Update) -> Update | None:
    entity = scope.entity
    scope.unit.fails(empty_update.check(node))
    targets = [(item, _updated_property(scope, item)) for item in node.assignments]
    values = _lower_values(scope, targets)
    where = lower_condition(scope, node.where)
    if where is None:
        return None
    return Update(entity.id, entity.kind.value, _assignments(values), where)


def _lower_delete(scope: EntityScope, node: ast.Delete) -> Delete | None:
    entity, unit = scope.entity, scope.unit
    if isinstance(entity, NodeType):
        # A node takes its edges with it.
        for edge in unit.catalog.incident_edges(entity.id):
            unit.writes(edge)
    where = lower_condition(scope, node.where)
    return None if where is None else Delete(entity.id, entity.kind.value, where)


# --- assignments -------------------------------------------------------------------------------


def _lower_values(
    scope: EntityScope, targets: list[tuple[ast.Assignment, Property | None]]
) -> dict[str, ir.Expr]:
    """The assigned values by property id; those that are wrong are missing."""
    values: dict[str, ir.Expr] = {}
    seen: set[str] = set()
    for item, prop in targets:
        if prop is None:
            continue
        if prop.id in seen:
            scope.unit.report(repeated_assignment.repeated(item))
            continue
        seen.add(prop.id)
        # Messages speak of an endpoint as the text does: `from`, not `src`.
        value = lower_value(scope, replace(prop, name=item.prop), item.value)
        if value is not None:
            values[prop.id] = value
    return values


def _assignments(values: dict[str, ir.Expr]) -> tuple[Assignment, ...]:
    return tuple(Assignment(prop, value) for prop, value in values.items())


def _inserted_property(scope: EntityScope, item: ast.Assignment) -> Property | None:
    """Resolve a name in an insert: a property, or an endpoint."""
    found = scope.entity.by_name.get(item.prop) or _endpoint(scope, item.prop)
    if found is None:
        _report_unknown(scope, item)
    return found


def _updated_property(scope: EntityScope, item: ast.Assignment) -> Property | None:
    """Resolve a name in an update: a property that is not part of the entity's identity."""
    found = scope.entity.by_name.get(item.prop)
    if found is not None:
        fixed = scope.unit.fails(key_update.check(scope.entity, found, item.prop_span))
        return None if fixed else found
    if _endpoint(scope, item.prop) is not None:
        scope.unit.report(endpoint_update.moved(item))
    else:
        _report_unknown(scope, item)
    return None


def _endpoint(scope: EntityScope, name: str) -> Property | None:
    """``from``, ``to``, or the name of an endpoint's type when only one end has it."""
    if not isinstance(scope.entity, EdgeType):
        return None
    if name in ENDPOINTS:
        return ENDPOINTS[name]
    first, last = _endpoint_names(scope, scope.entity)
    return None if first == last else {first: SRC, last: DST}.get(name)


def _endpoint_names(scope: EntityScope, edge: EdgeType) -> tuple[str, str]:
    types = scope.unit.catalog.types
    first, last = (types[end].name for end in (edge.source, edge.target))
    return first[0].lower() + first[1:], last[0].lower() + last[1:]


def _report_unknown(scope: EntityScope, item: ast.Assignment) -> None:
    entity, name, span = scope.entity, item.prop, item.prop_span
    if name == "id":
        found = mutation_property.assigned_id(entity, span)
    elif isinstance(entity, EdgeType) and name in _endpoint_names(scope, entity):
        found = mutation_property.ambiguous_endpoint(entity, name, span)
    else:
        found = mutation_property.unknown(entity, name, span, assigned=True)
    scope.unit.report(found)


def _missing(scope: EntityScope, verb: ast.InsertVerb, assigned: AbstractSet[str]) -> Iterator[str]:
    """The names of what an insert must still give."""
    entity = scope.entity
    # An existing row keeps its values; the writer knows whether there is one.
    upserts = verb is ast.InsertVerb.INSERT and entity.key is not None
    if isinstance(entity, EdgeType):
        yield from (name for end, name in _ENDS.items() if end not in assigned)
    for prop in entity.properties:
        if prop.nullable or prop.default is not None or prop.id in assigned:
            continue
        if upserts and prop.id not in (entity.key or ()):
            continue
        source = _embedded_from(scope, prop)
        if source is None:
            yield prop.name
        elif source.nullable and source.default is None and source.id not in assigned:
            # A required source is missing by itself, and one finding is enough.
            yield source.name


def _embedded_from(scope: EntityScope, prop: Property) -> Property | None:
    """The property whose text is embedded into this one."""
    embed = prop.annotations.get("embed")
    if not embed or not isinstance(prop.dtype, VectorType):
        return None
    return scope.entity.by_name.get(str(embed[0]))
