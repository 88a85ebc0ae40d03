"""Resolve names, in a pattern and in a mutation.

Both kinds of scope answer the same three questions: what is ``$x``, what is ``$x.p``, what is a
bare word. An answer of None means that the name is wrong and that this was reported, here or where
the variable should have been bound; whoever asked stays silent.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from omnigraph.compiler.operands import is_blob
from omnigraph.compiler.rules import (
    alias,
    blob_value,
    mutation_property,
    mutation_variable,
    reference,
)
from omnigraph.ir import expressions as ir
from omnigraph.language.gq import ast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from omnigraph.catalog.model import EntityType, Property
    from omnigraph.compiler.unit import CompilationUnit
    from omnigraph.ir.queries import Block
    from omnigraph.language.source import Span

__all__ = ["ENTITY_SLOT", "EntityScope", "Names", "PatternScope", "ScopedVariable"]

# The entity that a mutation looks at.
ENTITY_SLOT = ir.Slot(0)


@dataclass(slots=True)
class ScopedVariable:
    """A variable of a pattern. Its type is unknown until a binding or a traversal gives it one."""

    name: str
    slot: ir.Slot
    is_edge: bool = False
    entity: EntityType | None = None
    # Its type could not be found out, and that was reported.
    failed: bool = False
    # The value that it holds, if it is bound to no entity.
    value: ir.ValueSlot | None = None
    # Whether it may be NULL: it is bound in an optional block.
    optional: bool = False


class PatternScope:
    """The names of a block: its own variables, those of the blocks around it, the parameters."""

    __slots__ = (
        "aliases",
        "folding",
        "lower_block",
        "outer",
        "unit",
        "variables",
    )

    def __init__(
        self,
        unit: CompilationUnit,
        lower_block: Callable[[PatternScope, tuple[ast.MatchItem, ...]], Block],
        *,
        outer: PatternScope | None = None,
    ) -> None:
        self.unit = unit
        # Patterns hold conditions and conditions hold patterns: this is the way back.
        self.lower_block = lower_block
        self.outer = outer
        self.variables: dict[str, ScopedVariable] = {}
        # Set once ``return`` begins; an alias whose expression is wrong is None.
        self.aliases: dict[str, ir.Expr | None] | None = None
        # Whether the operand of an aggregate is being lowered.
        self.folding = False

    def inner(self) -> PatternScope:
        """The scope of a block inside this one."""
        return PatternScope(self.unit, self.lower_block, outer=self)

    def find(self, name: str) -> ScopedVariable | None:
        """A variable of this block or of one around it."""
        scope: PatternScope | None = self
        while scope is not None:
            found = scope.variables.get(name)
            if found is not None:
                return found
            scope = scope.outer
        return None

    def variable(self, node: ast.Variable) -> ir.Expr | None:
        """``$x``: an entity or a parameter."""
        found = self.find(node.name)
        if found is not None and found.value is not None:
            return ir.ValueRef(found.slot, found.value.dtype, found.value.nullable)
        if found is not None:
            if found.entity is None:
                return None
            return ir.EntityRef(found.slot, found.entity.id, found.optional)
        if node.name in self.unit.params:
            return _parameter(self.unit, node)
        self._report_unbound(node.name, node.span)
        return None

    def access(self, node: ast.PropertyAccess) -> ir.PropertyRef | None:
        """``$x.p``."""
        found = self.find(node.variable)
        if found is None:
            if node.variable in self.unit.params:
                self.unit.report(reference.parameter_has_no_property(node))
            else:
                self._report_unbound(node.variable, node.variable_span)
            return None
        if found.value is not None:
            self.unit.report(reference.value_has_no_property(node))
            return None
        if found.entity is None:
            return None
        prop = found.entity.find(node.prop)
        if prop is None:
            self.unit.report(reference.unknown_property(found.entity, node))
            return None
        ref = _property(self.unit, found.slot, prop, node.span)
        if ref is not None and found.optional:
            return ir.PropertyRef(ref.slot, ref.prop, ref.dtype, nullable=True)
        return ref

    def bare(self, node: ast.AliasRef | ast.PropertyName) -> ir.Expr | None:
        """A word: in ``return`` and ``order`` an alias."""
        name = node.name if isinstance(node, ast.AliasRef) else node.prop
        if isinstance(node, ast.PropertyName) or self.aliases is None:
            self.unit.report(reference.bare_word(node, name))
            return None
        if name not in self.aliases:
            self.unit.report(alias.unknown(node, self.aliases))
            return None
        return self.aliases[name]

    def knows(self, name: str) -> bool:
        """Whether a variable or parameter has the name."""
        return name in self._known()

    @contextmanager
    def binding(self, item: ir.ValueSlot) -> Iterator[None]:
        """Know a variable for a while."""
        self.variables[item.name] = ScopedVariable(item.name, item.slot, value=item)
        yield
        del self.variables[item.name]

    def _report_unbound(self, name: str, span: Span) -> None:
        if name in self.unit.hidden:
            self.unit.report(reference.hidden(name, span))
        else:
            self.unit.report(reference.unbound(name, span, self._known()))

    def _known(self) -> Iterator[str]:
        scope: PatternScope | None = self
        while scope is not None:
            yield from scope.variables
            scope = scope.outer
        yield from self.unit.params


class EntityScope:
    """The names of a mutation: the properties of one entity, and the parameters.

    ``variable_name`` is the name of the entity, if it has one.
    """

    __slots__ = ("entity", "items", "unit", "variable_name")

    def __init__(
        self, unit: CompilationUnit, entity: EntityType, variable_name: str | None = None
    ) -> None:
        self.unit = unit
        self.entity = entity
        self.variable_name = variable_name
        self.items: dict[str, ir.ValueSlot] = {}

    def knows(self, name: str) -> bool:
        """Whether a variable or parameter has the name."""
        return name in self.items or name in self.unit.params or name == self.variable_name

    @contextmanager
    def binding(self, item: ir.ValueSlot) -> Iterator[None]:
        """Know a variable for a while."""
        self.items[item.name] = item
        yield
        del self.items[item.name]

    def variable(self, node: ast.Variable) -> ir.Expr | None:
        """``$p``: a parameter, an item of a list, or the entity."""
        if item := self.items.get(node.name):
            return ir.ValueRef(item.slot, item.dtype, item.nullable)
        if node.name == self.variable_name:
            return ir.EntityRef(ENTITY_SLOT, self.entity.id)
        if node.name in self.unit.params:
            return _parameter(self.unit, node)
        self.unit.report(mutation_variable.undeclared(node.name, node.span, self.unit.params))
        return None

    def access(self, node: ast.PropertyAccess) -> ir.PropertyRef | None:
        """``$x.p``: a property of the entity, if it has a name."""
        if node.variable == self.variable_name:
            return self._own(node.prop, node.prop_span)
        self.unit.report(mutation_variable.no_pattern(node.variable, node.prop, node.span))
        return None

    def bare(self, node: ast.AliasRef | ast.PropertyName) -> ir.Expr | None:
        """A word: a property of the entity."""
        name = node.name if isinstance(node, ast.AliasRef) else node.prop
        return self._own(name, node.span)

    def _own(self, name: str, span: Span) -> ir.PropertyRef | None:
        prop = self.entity.find(name)
        if prop is None:
            found = mutation_property.unknown(self.entity, name, span, assigned=False)
            self.unit.report(found)
            return None
        return _property(self.unit, ENTITY_SLOT, prop, span)


Names = PatternScope | EntityScope


def _parameter(unit: CompilationUnit, node: ast.Variable) -> ir.ParamRef | None:
    spec = unit.params[node.name]
    if is_blob(spec.dtype):
        unit.report(blob_value.read(node.span))
        return None
    return ir.ParamRef(spec.name, spec.dtype, spec.nullable)


def _property(
    unit: CompilationUnit, slot: ir.Slot, prop: Property, span: Span
) -> ir.PropertyRef | None:
    if is_blob(prop.dtype):
        unit.report(blob_value.read(span))
        return None
    return ir.PropertyRef(slot, prop.id, prop.dtype, prop.nullable)
