"""Binding tables of blocks.

The table of a block is the product of the entities of its slots, less the rows that a hop or a
filter rejects. Each is applied as soon as the table has its slots, which only saves work.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from omnigraph.catalog.model import EdgeType, TypeId
from omnigraph.ir.expressions import (
    BlockAggregate,
    EntityRef,
    Exists,
    PropertyRef,
    Quantified,
    ValueRef,
)
from omnigraph.ir.queries import Stage
from omnigraph.testing.reference.expressions import bind_blocks, value
from omnigraph.testing.reference.hops import reachable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from omnigraph.ir.queries import Block, Hop
    from omnigraph.testing.reference.graph import Binding
    from omnigraph.testing.reference.scope import Scope

    Node = tuple[str, str]

__all__ = ["bind_tables", "binding_table", "slots_of", "tree"]


def binding_table(block: Block, outer: Binding, scope: Scope) -> list[Binding]:
    """The rows of a block that extend a row of the blocks around it."""
    table = [outer]
    if block.source is not None:
        table = [{**outer, **row} for row in _TABLES[0](block.source, scope)]
    bound = set(outer) | _outputs(block)
    waiting: list[Any] = [*block.hops, *block.filters]
    unwinds = list(block.unwinds)
    # Nodes before edges: most hops reject rows before edges multiply them.
    slots = sorted(block.slots, key=lambda slot: isinstance(_type_of(slot, scope), EdgeType))
    for slot in (None, *slots):
        if slot is not None:
            bound.add(slot.slot)
            entities = scope.graph[slot.type_id]
            table = [{**row, slot.slot: entity} for row in table for entity in entities]
        while ready_unwinds := [each for each in unwinds if slots_of(each.items) <= bound]:
            unwind = ready_unwinds[0]
            unwinds.remove(unwind)
            bound.add(unwind.item.slot)
            table = [
                {**row, unwind.item.slot: item}
                for row in table
                for item in value(unwind.items, row, scope) or ()
            ]
        ready = [each for each in waiting if slots_of(each) <= bound]
        waiting = [each for each in waiting if not slots_of(each) <= bound]
        table = [row for row in table if all(_accepts(each, row, scope) for each in ready)]
    for optional in block.optionals:
        nothing = dict.fromkeys(_bound(optional))
        table = [
            found
            for row in table
            for found in binding_table(optional, row, scope) or [{**row, **nothing}]
        ]
        bound |= nothing.keys()
    return [row for row in table if all(_accepts(each, row, scope) for each in waiting)]


bind_blocks(binding_table)

# The rows of a table by the slots of its columns, from the module that evaluates stages.
_TABLES: list[Callable[[Any, Scope], list[Binding]]] = []


def bind_tables(rows: Callable[[Any, Scope], list[Binding]]) -> None:
    """Register the evaluation of tables."""
    _TABLES.append(rows)


def _bound(block: Block) -> set[int]:
    """The slots that a block and its optional blocks bind."""
    own = {each.slot for each in block.slots} | _outputs(block)
    own |= {unwind.item.slot for unwind in block.unwinds}
    return own.union(*map(_bound, block.optionals))


def _outputs(block: Block) -> set[int]:
    return set() if block.source is None else {each.slot for each in block.source.outputs}


def _type_of(slot: Any, scope: Scope) -> Any:
    return scope.catalog.types[TypeId(slot.type_id)]


def _accepts(condition: Any, row: Binding, scope: Scope) -> bool:
    if hasattr(condition, "edge_type"):
        return _hop_holds(condition, row, scope)
    return value(condition, row, scope) is True


# --- hops --------------------------------------------------------------------------------------


def _hop_holds(hop: Hop, row: Binding, scope: Scope) -> bool:
    source, target = row[hop.source], row[hop.target]
    if source is None or target is None:
        return False
    if hop.edge_slot is None:
        pair = ((source.type_id, source.id), (target.type_id, target.id))
        return pair in _relation(hop, scope)
    if row[hop.edge_slot] is None:
        return False
    edge = row[hop.edge_slot].values
    ends = [(source.id, target.id), (target.id, source.id)]
    return (edge["@src"], edge["@dst"]) in (ends if hop.undirected else ends[:1])


def _relation(hop: Hop, scope: Scope) -> set[tuple[Node, Node]]:
    """The pairs of nodes for which an unbound hop holds."""
    key = (hop.edge_type, hop.undirected, hop.min_hops, hop.max_hops)
    if key not in scope.memo:
        steps = _steps(hop, scope)
        nodes = {
            (entity.type_id, entity.id) for entities in scope.graph.values() for entity in entities
        }
        scope.memo[key] = {
            (start, end)
            for start in nodes
            for end in reachable(start, steps, hop.min_hops, hop.max_hops)
        }
    found: set[tuple[Node, Node]] = scope.memo[key]
    return found


def _steps(hop: Hop, scope: Scope) -> set[tuple[Node, Node]]:
    edge_type = scope.catalog.edge_by_id(TypeId(hop.edge_type))
    forward = {
        ((str(edge_type.source), edge.values["@src"]), (str(edge_type.target), edge.values["@dst"]))
        for edge in scope.graph[hop.edge_type]
    }
    return forward | {(end, start) for start, end in forward} if hop.undirected else forward


# --- the IR as data ----------------------------------------------------------------------------


def tree(node: Any) -> Iterator[Any]:
    """All nodes of the IR at and below ``node``."""
    if is_dataclass(node):
        yield node
        for field in fields(node):
            yield from tree(getattr(node, field.name))
    elif isinstance(node, tuple):
        for item in node:
            yield from tree(item)


def slots_of(node: Any) -> set[int]:
    """The slots that an expression reads and none of its inner blocks introduces."""
    mentioned: set[int] = set()
    introduced: set[int] = set()
    if hasattr(node, "optionals"):
        introduced |= _bound(node)
    for each in tree(node):
        if isinstance(each, PropertyRef | EntityRef | ValueRef):
            mentioned.add(each.slot)
        elif isinstance(each, Exists | BlockAggregate):
            introduced |= _bound(each.block)
        elif isinstance(each, Stage):
            introduced |= _bound(each.match)
        elif isinstance(each, Quantified):
            introduced.add(each.item.slot)
        elif hasattr(each, "edge_type"):
            mentioned |= {each.source, each.target}
            mentioned |= set() if each.edge_slot is None else {each.edge_slot}
    return mentioned - introduced
