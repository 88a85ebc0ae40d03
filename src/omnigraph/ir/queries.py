"""Define the queries of the IR.

**Match semantics.** A block is a conjunction. Its rows are the distinct assignments of its slots
for which every hop holds and every filter is true. An unbound hop is a relation, a *set* of
(source, target) pairs, so parallel edges give one row; a bound hop (``edge_slot``) gives one row
per edge. A hop with ``min_hops..max_hops`` other than 1..1 holds for (a, b) when b is reached from
a by a breadth-first search that starts at a (visited at depth 0) and never enters a node twice, at
a depth within the bounds; one exception: an edge that loops on a node reports that node again at
the next depth, without searching on from it. An undirected hop follows edges both ways. Slots of
outer blocks keep their values inside inner ones.

**Result order** is total: the ``order`` keys, then the ids of all slots of the outer block in slot
order, ascending, or their values if they hold some. NULLs sort first ascending and last descending.
With aggregates the remaining ties are broken by the group keys; ``distinct`` groups by all columns.
"""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING

from omnigraph.frozen import frozen
from omnigraph.ir.expressions import ValueSlot

if TYPE_CHECKING:
    from omnigraph.datatypes.types import DataType
    from omnigraph.ir.expressions import Expr, Slot

__all__ = [
    "Assignment",
    "Block",
    "Column",
    "Delete",
    "EntitySlot",
    "Hop",
    "Insert",
    "InsertMode",
    "MutationIR",
    "OrderKey",
    "ParamSpec",
    "Projection",
    "QueryIR",
    "ReadIR",
    "ResultColumn",
    "Stage",
    "StatementIR",
    "Table",
    "TypeUse",
    "Union",
    "Unwind",
    "Update",
]


@frozen
class ParamSpec:
    """A declared parameter."""

    name: str
    dtype: DataType
    nullable: bool


@frozen
class TypeUse:
    """An entity type that a query may read or write."""

    kind: str
    type_id: str
    name: str


@frozen
class EntitySlot:
    """A variable of a block and its type; ``name`` is for output only."""

    slot: Slot
    type_id: str
    name: str
    # Whether it may be bound to nothing, by an optional block.
    nullable: bool = False


@frozen
class Hop:
    """A traversal along one edge type, always from source to target of the edge.

    ``reversed``: the query names the two in the other order. The meaning of the hop does not depend
    on it, so comparisons ignore it.
    """

    source: Slot
    target: Slot
    edge_type: str
    edge_slot: Slot | None
    undirected: bool
    min_hops: int
    max_hops: int
    reversed: bool = field(default=False, compare=False)


@frozen
class Unwind:
    """A row for each item of a list, which may read slots; none for NULL."""

    item: ValueSlot
    items: Expr


@frozen
class Block:
    """A pattern; ``slots`` are the variables that it introduces, for nodes and bound edges.

    ``filters`` are joined by AND and include search predicates, exists and count blocks.
    ``source``: the rows of a table that the pattern extends. ``unwinds`` apply in their order, and
    filters to the rows that result. A row without a match of an optional block is kept with NULL in
    the slots of the block; optional blocks apply in order and see the slots of those before.
    """

    slots: tuple[EntitySlot, ...]
    hops: tuple[Hop, ...]
    filters: tuple[Expr, ...]
    source: Table | None = None
    unwinds: tuple[Unwind, ...] = ()
    optionals: tuple[Block, ...] = ()


@frozen
class Projection:
    """A named output expression."""

    name: str
    expr: Expr


@frozen
class OrderKey:
    """A sort key."""

    expr: Expr
    descending: bool


# A slot that a column of a table becomes.
Column = EntitySlot | ValueSlot


@frozen
class Stage:
    """A pattern and its projection, a table of a bag of rows.

    ``outputs`` are the slots of the columns, one for each projection. Rows that ``having`` does not
    accept are dropped before ``order``, ``limit`` and ``offset`` choose among them.
    """

    match: Block
    returns: tuple[Projection, ...]
    distinct: bool
    having: Expr | None
    order: tuple[OrderKey, ...]
    limit: Expr | None
    offset: Expr | None
    outputs: tuple[Column, ...]


@frozen
class Union:
    """The rows of several tables with like columns; ``distinct``: each of them once."""

    parts: tuple[Stage, ...]
    distinct: bool
    outputs: tuple[Column, ...]


Table = Stage | Union


@frozen
class ResultColumn:
    """A column of the result.

    ``kind`` is a wire type: string, bool, int, bigint, float, date, datetime, blob, vector, list,
    object."""

    name: str
    kind: str
    nullable: bool
    item_kind: str | None = None
    vector_dim: int | None = None


@frozen
class ReadIR:
    """A read query. If a projection has an Aggregate, those without are the group keys."""

    name: str
    params: tuple[ParamSpec, ...]
    match: Block
    returns: tuple[Projection, ...]
    distinct: bool
    order: tuple[OrderKey, ...]
    limit: Expr | None
    offset: Expr | None
    columns: tuple[ResultColumn, ...]
    reads: tuple[TypeUse, ...]
    having: Expr | None = None


@frozen
class Assignment:
    """A property and its new value; ``prop`` is a property id."""

    prop: str
    value: Expr


class InsertMode(StrEnum):
    """The treatment of a key that exists."""

    # Set what is assigned, keep the rest.
    UPSERT = "insert"
    # Refuse.
    CREATE = "create"
    # Replace the whole row: what is not assigned takes its default, or NULL.
    REPLACE = "replace"


@frozen
class Insert:
    """``source`` and ``target`` are set for edges. The writer fills in the defaults of new rows."""

    mode: InsertMode
    type_id: str
    kind: str
    assignments: tuple[Assignment, ...]
    source: Expr | None
    target: Expr | None


@frozen
class Update:
    """An update; the entity is slot 0 of ``where`` and of the assigned values."""

    type_id: str
    kind: str
    assignments: tuple[Assignment, ...]
    where: Expr


@frozen
class Delete:
    """A delete; the entity is slot 0 of ``where``."""

    type_id: str
    kind: str
    where: Expr


StatementIR = Insert | Update | Delete


@frozen
class MutationIR:
    """A mutation; ``writes`` includes the edge types that a node delete cascades to."""

    name: str
    params: tuple[ParamSpec, ...]
    statements: tuple[StatementIR, ...]
    reads: tuple[TypeUse, ...]
    writes: tuple[TypeUse, ...]


QueryIR = ReadIR | MutationIR
