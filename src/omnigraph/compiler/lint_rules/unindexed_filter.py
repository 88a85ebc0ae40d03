"""L204: a filter that has to look at all entities of a large type.

A pattern is cheap when it can start somewhere: at an indexed property that is compared with
something known, or at a variable of an outer block. From there traversals lead on. So only patterns
without any start are reported, once for every property without an index that they filter by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.catalog.model import PropertyId, TypeId
from omnigraph.compiler.lint_rules.finding import CheckedQuery, Finding, LintRule, QueryFile
from omnigraph.datatypes.types import ListType
from omnigraph.ir import expressions as ir
from omnigraph.ir.queries import Block, Delete, EntitySlot, Insert, QueryIR, ReadIR, Update
from omnigraph.language.gq import ast
from omnigraph.language.gq.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from omnigraph.catalog.model import EntityType
    from omnigraph.language.source import Span

RULE = LintRule("L204", "Filters on large types use an index.")


def check(file: QueryFile) -> Iterator[Finding]:
    for checked in file.queries:
        if file.large_types and checked.lowered is not None:
            yield from _check_query(file, checked, checked.lowered)


def _check_query(file: QueryFile, checked: CheckedQuery, lowered: QueryIR) -> Iterator[Finding]:
    seen: set[tuple[str, str]] = set()
    for block in _patterns(lowered):
        for slot, ref in _scans(file, block, outer=frozenset()):
            entity = _type_of(file, slot)
            prop = entity.by_id[PropertyId(ref.prop)].name
            if (slot.name, prop) in seen:
                continue
            seen.add((slot.name, prop))
            count = file.large_types[entity.name]
            diagnostic = RULE.warning(
                _span_of(checked.query, entity, slot.name, prop),
                f"`{entity.name}.{prop}` has no index, so this filter reads all "
                f"{count:,} entities of `{entity.name}`",
                _remedy(entity, prop),
            )
            yield Finding(diagnostic, (checked.query.name,), entity.name, prop)


def _remedy(entity: EntityType, prop: str) -> str:
    if isinstance(entity.by_name[prop].dtype, ListType):
        return "lists have no index: start at an indexed property"
    return f"declare `@index({prop})` on `{entity.name}`, or start at an indexed property"


def _patterns(lowered: QueryIR) -> Iterator[Block]:
    """The patterns of a query; a statement is one with a single, nameless variable."""
    if isinstance(lowered, ReadIR):
        yield lowered.match
        return
    for statement in lowered.statements:
        match statement:
            case Update(type_id=type_id, where=where) | Delete(type_id=type_id, where=where):
                yield Block((EntitySlot(ir.Slot(0), type_id, ""),), (), tuple(_conjuncts(where)))
            case Insert():
                pass


def _scans(
    file: QueryFile, block: Block, *, outer: frozenset[ir.Slot]
) -> Iterator[tuple[EntitySlot, ir.PropertyRef]]:
    """The properties without an index by which a block without a start filters a large type."""
    slots = {slot.slot: slot for slot in block.slots}
    started = _reachable(block, outer | set(_starts(file, block)))
    for condition in block.filters:
        for ref in _filtered(condition):
            slot = slots.get(ref.slot)
            if slot is None or slot.slot in started:
                continue
            entity = _type_of(file, slot)
            if entity.name in file.large_types and not _is_indexed(entity, ref.prop):
                yield slot, ref
        for inner in _inner_blocks(condition):
            yield from _scans(file, inner, outer=outer | set(slots))


def _starts(file: QueryFile, block: Block) -> Iterator[ir.Slot]:
    """The variables that an index finds by something known before."""
    own = {slot.slot: _type_of(file, slot) for slot in block.slots}
    for condition in block.filters:
        refs = [ref for ref in _filtered(condition) if ref.slot in own]
        if len(refs) == 1 and not isinstance(condition, ir.Or | ir.Not):
            (ref,) = refs
            if _is_indexed(own[ref.slot], ref.prop):
                yield ref.slot


def _reachable(block: Block, starts: Iterable[ir.Slot]) -> set[ir.Slot]:
    """The variables that traversals connect with a start."""
    reached = set(starts)
    links = [{hop.source, hop.target} for hop in block.hops]
    links += [{hop.source, hop.edge_slot} for hop in block.hops if hop.edge_slot is not None]
    growing = True
    while growing:
        before = len(reached)
        for link in links:
            if link & reached:
                reached |= link
        growing = len(reached) > before
    return reached


def _type_of(file: QueryFile, slot: EntitySlot) -> EntityType:
    return file.catalog.types[TypeId(slot.type_id)]


def _filtered(condition: ir.Expr) -> Iterator[ir.PropertyRef]:
    """The properties of a condition that an index could serve."""
    match condition:
        case ir.And(operands) | ir.Or(operands):
            for operand in operands:
                yield from _filtered(operand)
        case ir.Not(operand):
            yield from _filtered(operand)
        case ir.Compare(op=op, left=left, right=right) if op is not ir.CompareOp.NE:
            yield from (side for side in (left, right) if isinstance(side, ir.PropertyRef))
        case (
            ir.StringMatch(haystack=ir.PropertyRef() as ref)
            | ir.ListContains(items=ir.PropertyRef() as ref)
            | ir.InList(item=ir.PropertyRef() as ref)
            | ir.TextMatch(target=ref)
        ):
            yield ref
        case _:
            pass


def _conjuncts(condition: ir.Expr) -> tuple[ir.Expr, ...]:
    return condition.operands if isinstance(condition, ir.And) else (condition,)


def _inner_blocks(condition: ir.Expr) -> Iterator[Block]:
    """The blocks that stand in a condition, without those that stand in them."""
    match condition:
        case ir.And(operands) | ir.Or(operands):
            for operand in operands:
                yield from _inner_blocks(operand)
        case ir.Not(operand):
            yield from _inner_blocks(operand)
        case ir.Compare(left=left, right=right):
            yield from _inner_blocks(left)
            yield from _inner_blocks(right)
        case ir.Exists(block=block) | ir.BlockAggregate(block=block):
            yield block
        case _:
            pass


def _is_indexed(entity: EntityType, prop: str) -> bool:
    """Ids and endpoints always are; keys, uniques and indexes serve their first property."""
    declared = (entity.key or (), *entity.uniques, *entity.indexes)
    return prop.startswith("@") or any(group[:1] == (prop,) for group in declared)


def _span_of(query: ast.Query, entity: EntityType, variable: str, prop: str) -> Span:
    """Where the text filters by the property; the IR does not know."""
    for node in walk(query.body):
        match node:
            case ast.PropertyAccess() if (node.variable, node.prop) == (variable, prop):
                return node.span
            case ast.Binding(variable=name, filters=filters) if name == variable:
                for found in filters:
                    if found.prop == prop:
                        return found.prop_span
            case ast.Update() | ast.Delete() if node.type_name.casefold() == entity.name.casefold():
                for inner in walk(node.where):
                    if isinstance(inner, ast.PropertyName) and inner.prop == prop:
                        return inner.span
            case _:
                pass
    return query.name_span
