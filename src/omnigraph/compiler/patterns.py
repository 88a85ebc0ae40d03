"""Patterns: the variables, hops and filters of a block.

A block is a conjunction, so the order of its clauses means nothing: first every variable is
declared, then bindings give types, then traversals carry types from one variable to the next until
all are known, and only then are conditions read. A name that the block around it binds, wherever,
is that variable. Slots are numbered in the order in which the variables appear in the text.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from omnigraph.compiler.expressions import lower_condition, lower_operand
from omnigraph.compiler.inline_filters import lower_inline_filter
from omnigraph.compiler.rules import (
    edge_variable,
    function_argument,
    item_variable,
    node_type,
    shadowed_parameter,
    value_variable,
    variable_type,
)
from omnigraph.compiler.scope import PatternScope, ScopedVariable
from omnigraph.compiler.traversals import TraversalClause, lower_traversals
from omnigraph.datatypes.types import ListType, ScalarType
from omnigraph.ir import expressions as ir
from omnigraph.ir.queries import Block, EntitySlot, Unwind
from omnigraph.language.gq import ast

if TYPE_CHECKING:
    from omnigraph.compiler.unit import CompilationUnit
    from omnigraph.ir.queries import Table
    from omnigraph.language.source import Span

__all__ = ["lower_block", "outermost_scope"]

# Matches anything, and is another variable each time.
_ANONYMOUS = "_"


def outermost_scope(unit: CompilationUnit) -> PatternScope:
    """The scope of a query's ``match``."""
    return PatternScope(unit, lower_block)


def lower_block(
    scope: PatternScope, items: tuple[ast.MatchItem, ...], source: Table | None = None
) -> Block:
    """The clauses of a block. A wrong clause was reported and is missing from the block."""
    clauses = _declare(scope, items)
    for binding, variable in clauses.bindings:
        _bind(scope, binding, variable)
    hops = lower_traversals(scope.unit, clauses.traversals)
    optionals = [_lower_optional(scope, node) for node in clauses.optionals]
    unwinds = [found for node in clauses.unwinds if (found := _lower_unwind(scope, node))]
    filters: list[ir.Expr] = []
    for binding, variable in clauses.bindings:
        filters += _inline_filters(scope, binding, variable)
    for node in clauses.conditions:
        condition = lower_condition(scope, node)
        if isinstance(condition, ir.And):
            filters += condition.operands
        elif condition is not None:
            filters.append(condition)
    slots = tuple(
        EntitySlot(variable.slot, variable.entity.id, variable.name)
        for variable in clauses.variables
        if variable.entity is not None
    )
    return Block(slots, tuple(hops), tuple(filters), source, tuple(unwinds), tuple(optionals))


def _lower_optional(scope: PatternScope, node: ast.OptionalBlock) -> Block:
    """A block whose variables the block around it sees, NULL where there is no match."""
    inner = scope.inner()
    block = lower_block(inner, node.block)
    for name, variable in inner.variables.items():
        variable.optional = True
        if variable.value is not None:
            variable.value = replace(variable.value, nullable=True)
        scope.variables[name] = variable
        if scope.outer is None:
            scope.unit.hidden.discard(name)
    return replace(block, slots=tuple(replace(each, nullable=True) for each in block.slots))


def _lower_unwind(scope: PatternScope, node: ast.Unwind) -> Unwind | None:
    """A list whose items become rows; its variable may be read by what follows."""
    items = lower_operand(scope, node.items)
    if node.variable in scope.unit.params:
        scope.unit.report(shadowed_parameter.shadowed(node.variable, node.variable_span))
        return None
    if scope.knows(node.variable):
        scope.unit.report(item_variable.taken(node.variable, node.variable_span))
        return None
    variable = ScopedVariable(node.variable, scope.unit.new_slot(), failed=True)
    scope.variables[node.variable] = variable
    if items is None:
        return None
    if not isinstance(items.dtype, ListType):
        scope.unit.report(function_argument.misfit("unwind", "a list", items))
        return None
    held = ScalarType(items.dtype.item)
    variable.value = ir.ValueSlot(variable.slot, held, nullable=True, name=node.variable)
    return Unwind(variable.value, items.expr)


@dataclass(slots=True)
class _Clauses:
    """A block, its clauses sorted by kind, each joined with its variables."""

    bindings: list[tuple[ast.Binding, ScopedVariable]] = field(default_factory=list)
    traversals: list[TraversalClause] = field(default_factory=list)
    conditions: list[ast.Expr] = field(default_factory=list)
    unwinds: list[ast.Unwind] = field(default_factory=list)
    optionals: list[ast.OptionalBlock] = field(default_factory=list)
    # Those that the block introduces, as they appear.
    variables: list[ScopedVariable] = field(default_factory=list)


def _declare(scope: PatternScope, items: tuple[ast.MatchItem, ...]) -> _Clauses:
    clauses = _Clauses()
    for item in items:
        if isinstance(item, ast.Binding):
            variable = _variable(scope, clauses, item.variable, item.variable_span)
            clauses.bindings.append((item, variable))
        elif isinstance(item, ast.Traversal):
            source = _variable(scope, clauses, item.source, item.source_span)
            edge = _edge_variable(scope, clauses, item)
            target = _variable(scope, clauses, item.target, item.target_span)
            clauses.traversals.append(TraversalClause(item, source, target, edge))
        elif isinstance(item, ast.Unwind):
            clauses.unwinds.append(item)
        elif isinstance(item, ast.OptionalBlock):
            clauses.optionals.append(item)
        else:
            clauses.conditions.append(item)
    return clauses


def _variable(scope: PatternScope, clauses: _Clauses, name: str, span: Span) -> ScopedVariable:
    """The variable of that name, here or further out; a new one where there is none."""
    found = None if name == _ANONYMOUS else scope.find(name)
    if found is None:
        return _introduce(scope, clauses, name, span)
    if found.value is not None:
        scope.unit.report(value_variable.bound(name, span))
        return ScopedVariable(name, scope.unit.new_slot(), failed=True)
    return found


def _edge_variable(
    scope: PatternScope, clauses: _Clauses, traversal: ast.Traversal
) -> ScopedVariable | None:
    name = traversal.edge_variable
    if name is None or name == _ANONYMOUS:
        return None
    span = traversal.edge_variable_span or traversal.span
    found = scope.find(name)
    if name == traversal.target or found is not None:
        scope.unit.report(edge_variable.reused(name, span))
        if found is not None:
            _disown(scope, found)
        return None
    variable = _introduce(scope, clauses, name, span)
    variable.is_edge = True
    return variable


def _introduce(scope: PatternScope, clauses: _Clauses, name: str, span: Span) -> ScopedVariable:
    variable = ScopedVariable(name, scope.unit.new_slot())
    if name in scope.unit.params:
        scope.unit.report(shadowed_parameter.shadowed(name, span))
        variable.failed = True
    if name != _ANONYMOUS:
        scope.variables[name] = variable
        if scope.outer is not None:
            scope.unit.hidden.add(name)
    clauses.variables.append(variable)
    return variable


def _bind(scope: PatternScope, binding: ast.Binding, variable: ScopedVariable) -> None:
    """Gives the variable the type that the binding names."""
    unit = scope.unit
    node = unit.catalog.node(binding.type_name)
    if node is None:
        unit.report(node_type.unknown(unit.catalog, binding))
        _disown(scope, variable)
    elif variable.is_edge:
        unit.report(edge_variable.bound_as_node(binding))
        _disown(scope, variable)
    elif variable.entity is not None and variable.entity.id != node.id:
        unit.report(variable_type.rebound(binding, variable.entity))
        _disown(scope, variable)
    elif not variable.failed:
        variable.entity = node
        unit.reads(node)


def _disown(scope: PatternScope, variable: ScopedVariable) -> None:
    """Leaves a variable of this block without a type: which of its lines is wrong is unknown."""
    if scope.variables.get(variable.name) is variable or variable.name == _ANONYMOUS:
        variable.failed = True
        variable.entity = None


def _inline_filters(
    scope: PatternScope, binding: ast.Binding, variable: ScopedVariable
) -> list[ir.Expr]:
    """The filters of a binding, by the type that it names: its variable may have failed."""
    node = scope.unit.catalog.node(binding.type_name)
    if node is None:
        return []
    lowered = (lower_inline_filter(scope, variable.slot, node, item) for item in binding.filters)
    return [found for found in lowered if found is not None]
