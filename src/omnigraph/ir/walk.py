"""Traverse the IR generically."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from omnigraph.datatypes.types import EnumType, ListType, ScalarType, VectorType
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

__all__ = ["aggregates", "blocks", "fields_of", "nodes", "slots_bound", "slots_read"]

_REFERENCES = (PropertyRef, EntityRef, ValueRef)
_SCOPES = (Block, Stage, BlockAggregate, Quantified)
# Data types have no nodes of the IR below them.
_TYPES = (ScalarType, EnumType, ListType, VectorType)
# The fields of each class of nodes, None for other classes; asking a class once is enough.
_fields: dict[type, tuple[str, ...] | None] = dict.fromkeys((*_TYPES, tuple, type(None)))


def fields_of(kind: type) -> tuple[str, ...] | None:
    """Return the names of the fields of a class of nodes; None for any other class."""
    try:
        return _fields[kind]
    except KeyError:
        names = tuple(each.name for each in fields(kind)) if is_dataclass(kind) else None
        _fields[kind] = names
        return names


def nodes(tree: object) -> Iterator[Any]:
    """Yield ``tree`` and every node below it, data types apart, in order."""
    pending = [tree]
    while pending:
        found = pending.pop()
        kind = type(found)
        if kind is tuple:
            pending.extend(reversed(found))  # type: ignore[call-overload]  # it is a tuple
            continue
        names = fields_of(kind)
        if names is not None:
            yield found
            for name in reversed(names):
                child = getattr(found, name)
                if type(child) is tuple or fields_of(type(child)) is not None:
                    pending.append(child)


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
    found: set[Slot] = set()
    _read(tree, found)
    return frozenset(found)


def _read(tree: Any, found: set[Slot]) -> None:
    kind = type(tree)
    if kind in _REFERENCES:
        found.add(tree.slot)
    elif kind is Hop:
        found.update((tree.source, tree.target))
        if tree.edge_slot is not None:
            found.add(tree.edge_slot)
    elif kind in _SCOPES:
        inside: set[Slot] = set()
        for child in _children(tree):
            _read(child, inside)
        found |= inside - _introduced(tree)
    else:
        for child in _children(tree):
            _read(child, found)


def _introduced(tree: Block | Stage | BlockAggregate | Quantified) -> frozenset[Slot]:
    """The slots that a node introduces for its parts."""
    match tree:
        case Quantified(item=item):
            return frozenset({item.slot})
        case Stage(match=block) | BlockAggregate(block=block):
            # The operand of a block aggregate reads the slots of the block.
            return slots_bound(block)
        case Block():
            return slots_bound(tree)


def slots_bound(block: Block) -> frozenset[Slot]:
    """Return the slots that a block binds, those of its source included."""
    source = () if block.source is None else block.source.outputs
    items = (unwind.item for unwind in block.unwinds)
    own = frozenset(each.slot for each in (*block.slots, *source, *items))
    return own.union(*map(slots_bound, block.optionals))


def _children(tree: object) -> Iterator[Any]:
    if type(tree) is tuple:
        yield from tree
        return
    for name in fields_of(type(tree)) or ():
        child = getattr(tree, name)
        if type(child) is tuple or fields_of(type(child)) is not None:
            yield child
