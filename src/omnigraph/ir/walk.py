"""Traverse the IR generically."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from omnigraph.ir.expressions import (
    Aggregate,
    BlockAggregate,
    EntityRef,
    Exists,
    PropertyRef,
    Quantified,
    Slot,
    ValueRef,
)
from omnigraph.ir.queries import Block, Hop, Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["aggregates", "blocks", "nodes", "slots_bound", "slots_read"]


def nodes(tree: object) -> Iterator[Any]:
    """Yield ``tree`` and every node below it."""
    if is_dataclass(tree):
        yield tree
    for child in _children(tree):
        yield from nodes(child)


def blocks(tree: object) -> Iterator[Exists | BlockAggregate]:
    """Yield the outermost expressions with a block, in order."""
    if isinstance(tree, Exists | BlockAggregate):
        yield tree
        return
    for child in _children(tree):
        yield from blocks(child)


def aggregates(tree: object) -> tuple[Aggregate, ...]:
    """Return the aggregates over rows of the result that an expression contains."""
    return tuple(each for each in nodes(tree) if isinstance(each, Aggregate))


def slots_read(tree: object) -> frozenset[Slot]:
    """Return the free slots of ``tree``: those that it reads and does not introduce."""
    if isinstance(tree, PropertyRef | EntityRef | ValueRef):
        return frozenset({tree.slot})
    if isinstance(tree, Hop):
        ends = frozenset({tree.source, tree.target})
        return ends if tree.edge_slot is None else ends | {tree.edge_slot}
    found: frozenset[Slot] = frozenset().union(*(slots_read(child) for child in _children(tree)))
    if isinstance(tree, Quantified):
        return found - {tree.item.slot}
    if isinstance(tree, Stage):
        return found - slots_bound(tree.match)
    # The operand of a block aggregate reads the slots of the block.
    block = tree.block if isinstance(tree, BlockAggregate) else tree
    return found - slots_bound(block) if isinstance(block, Block) else found


def slots_bound(block: Block) -> frozenset[Slot]:
    """Return the slots that a block binds, those of its source included."""
    source = () if block.source is None else block.source.outputs
    items = (unwind.item for unwind in block.unwinds)
    own = frozenset(each.slot for each in (*block.slots, *source, *items))
    return own.union(*map(slots_bound, block.optionals))


def _children(tree: object) -> Iterator[object]:
    if isinstance(tree, tuple):
        yield from tree
    elif is_dataclass(tree):
        for field in fields(tree):
            yield getattr(tree, field.name)
