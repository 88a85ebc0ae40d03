"""Plans: what a read does, step by step.

A plan is a tree of operators over *bindings*: distinct assignments of slots. It is data: passes
rewrite it, ``explain`` prints it, the executor runs it. ``rows`` are estimates. Expressions inside
are those of the IR; values of blocks and scores are computed by an operator of their own and found
again by the identity of the expression.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import TYPE_CHECKING

from omnigraph.frozen import frozen
from omnigraph.ir.expressions import AggregateFunc, EntityRef

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from omnigraph.ir.expressions import (
        Aggregate,
        BlockAggregate,
        Exists,
        Expr,
        RankFusion,
        Score,
        Slot,
        TextMatch,
        ValueSlot,
    )
    from omnigraph.ir.queries import (
        Block,
        Column,
        EntitySlot,
        Hop,
        OrderKey,
        Projection,
        ReadIR,
    )

__all__ = [
    "Access",
    "Apply",
    "Bind",
    "EdgeEnds",
    "Expand",
    "Filter",
    "Group",
    "Join",
    "Limit",
    "Match",
    "MetadataCount",
    "Node",
    "OptionalRows",
    "Plan",
    "Product",
    "Project",
    "Reading",
    "Return",
    "Scan",
    "Scores",
    "SemiJoin",
    "Sort",
    "UnionRows",
    "UnwindRows",
    "Values",
    "counts_rows",
    "inputs",
    "is_entity",
    "output_slots",
    "replace_inputs",
    "walk",
    "with_inputs",
]


class Access(Enum):
    """Where columns and edges come from."""

    # Whole columns and the adjacency of whole edge types, in memory.
    RESIDENT = "csr"
    # Rows and edges looked up by id, through indexes where there are any.
    LOOKED_UP = "indexed"

    @property
    def source(self) -> str:
        """Where values come from, in a word: the other two are words for following edges."""
        return "memory" if self is Access.RESIDENT else "lookups"


@frozen
class Values:
    """The rows of the block around this one; at the top, the one assignment of no slots."""

    slots: tuple[Slot, ...]
    rows: float = 1.0


@frozen
class Match:
    """The rows of a block for each input row. Passes turn it into the operators below."""

    input: Node
    block: Block
    rows: float = 1.0


@frozen
class Scan:
    """The entities of a type. ``ids`` are expressions for ids, or for lists of them.

    ``counted``: of all entities, only how many there are, from the pin; its rows have no slots.
    """

    slot: EntitySlot
    ids: Expr | None = None
    filters: tuple[Expr, ...] = ()
    counted: bool = False
    rows: float = 1.0


@frozen
class Expand:
    """Follow a hop from ``start``, one of its nodes, to ``end``, the other.

    ``closes``: the end has a value already and the hop must lead there. ``keeps``: the slots that
    are needed afterwards (None: all), ``distinct`` each combination of them once. ``counted``: of
    the distinct ends, only how many there are; its rows have no slots.
    """

    input: Node
    hop: Hop
    start: Slot
    end: Slot
    closes: bool = False
    keeps: tuple[Slot, ...] | None = None
    distinct: bool = False
    counted: bool = False
    rows: float = 1.0

    @property
    def forward(self) -> bool:
        return self.start == self.hop.source


@frozen
class EdgeEnds:
    """The nodes that a bound edge joins. Ends that have a value already must agree."""

    input: Node
    hop: Hop
    edge: Slot
    binds: tuple[Slot, ...]
    rows: float = 1.0


@frozen
class Filter:
    """Rows for which every condition is true."""

    input: Node
    conditions: tuple[Expr, ...]
    rows: float = 1.0


@frozen
class Join:
    """Pairs of rows of two patterns that share no slot; ``equal`` pairs of values must agree."""

    left: Node
    right: Node
    equal: tuple[tuple[Expr, Expr], ...] = ()
    rows: float = 1.0


@frozen
class Product:
    """The cross product of components that share nothing, kept factorised.

    Only aggregates read it: they fold one component and multiply by the counts of the others, so
    its rows are never materialised.
    """

    parts: tuple[Node, ...]
    rows: float = 1.0


@frozen
class SemiJoin:
    """Rows for which the inner plan has a row (or, ``anti``, has none) with the same ``slots``."""

    input: Node
    inner: Node
    slots: tuple[Slot, ...]
    anti: bool
    rows: float = 1.0


@frozen
class Apply:
    """The value of a block expression for each row: a fold over the inner rows of its ``slots``."""

    input: Node
    expr: BlockAggregate | Exists
    inner: Node
    slots: tuple[Slot, ...]
    rows: float = 1.0


@frozen
class Project:
    """Fewer slots; ``distinct`` each combination once."""

    input: Node
    slots: tuple[Slot, ...]
    distinct: bool
    rows: float = 1.0


@frozen
class Scores:
    """Scores and ranks of rows. ``ranked``: those by which the query is ordered, which leave out
    rows that they do not rank. ``first``: the one by which only the best rows are needed."""

    input: Node
    scores: tuple[Score | RankFusion, ...]
    ranked: tuple[Score | RankFusion, ...] = ()
    first: Score | None = None
    rows: float = 1.0

    @property
    def ranks_all(self) -> bool:
        """Whether it ranks all there is of a type: only then may an index choose the rows."""
        below = self.input
        return isinstance(below, Scan) and below.ids is None and not below.filters


@frozen
class Group:
    """Rows folded by keys. Without keys there is one group, even of no rows, if there are folds.

    ``counts_rows``: the input has nothing but distinct entities of one slot and all that is asked
    is how many.
    """

    input: Node
    keys: tuple[Expr, ...]
    folds: tuple[Aggregate, ...]
    counts_rows: bool = False
    rows: float = 1.0


@frozen
class MetadataCount:
    """One group whose folds all count the entities of a type: the pin knows how many there are."""

    type_id: str
    folds: tuple[Aggregate, ...]
    rows: float = 1.0


@frozen
class Sort:
    """A total order: the keys, then the ids of ``ties``, or the keys of the groups below.

    ``top``: how many of the first rows are needed, offset included; None: all. ``staged``: of a
    stage before the last, whose page is not that of the result.
    """

    input: Node
    keys: tuple[OrderKey, ...]
    ties: tuple[Slot, ...]
    top: tuple[Expr, ...] | None = None
    staged: bool = False
    rows: float = 1.0


@frozen
class Limit:
    """Some of the rows, by their place."""

    input: Node
    offset: Expr | None
    limit: Expr | None
    staged: bool = False
    rows: float = 1.0


@frozen
class Bind:
    """The columns of a stage as slots, the only ones that are left."""

    input: Node
    projections: tuple[Projection, ...]
    outputs: tuple[Column, ...]
    rows: float = 1.0


@frozen
class UnionRows:
    """The rows of several plans, whose slots become those of ``outputs`` by their place."""

    parts: tuple[Node, ...]
    outputs: tuple[Column, ...]
    distinct: bool
    rows: float = 1.0


@frozen
class UnwindRows:
    """A row for each item of a list."""

    input: Node
    item: ValueSlot
    items: Expr
    rows: float = 1.0


@frozen
class OptionalRows:
    """Rows extended by those of the inner plan with the same ``slots``; a row that has none keeps
    NULL in the other slots of the inner plan."""

    input: Node
    inner: Node
    slots: tuple[Slot, ...]
    binds: tuple[Slot, ...]
    rows: float = 1.0


@frozen
class Return:
    """The columns of the result."""

    input: Node
    projections: tuple[Projection, ...]
    rows: float = 1.0


Node = (
    Values
    | Match
    | Scan
    | Expand
    | EdgeEnds
    | Filter
    | Join
    | Product
    | SemiJoin
    | Apply
    | Project
    | Scores
    | Group
    | MetadataCount
    | Sort
    | Limit
    | Bind
    | UnionRows
    | UnwindRows
    | OptionalRows
    | Return
)


@frozen
class Reading:
    """The properties of a type that a plan reads: first for the pattern, then for the result.
    ``shown`` are those of the first that only the result needs: most rows are in it anyway."""

    early: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """A read, ready to run for any parameters."""

    ir: ReadIR
    root: Node
    # The type of every slot of every block.
    types: Mapping[Slot, str]
    access: Access = Access.RESIDENT
    readings: Mapping[str, Reading] | None = None
    # Its searches, whose arguments are checked before it runs.
    searched: tuple[TextMatch | Score, ...] = ()
    # Slots of entities that may be NULL.
    nullable: frozenset[Slot] = frozenset()


_INPUTS = ("input", "left", "right", "inner")


def inputs(node: Node) -> tuple[Node, ...]:
    """The operators that an operator reads from."""
    if isinstance(node, Product | UnionRows):
        return node.parts
    return tuple([getattr(node, name) for name in _input_names(type(node))])


def _input_names(kind: type) -> tuple[str, ...]:
    """The fields of a class of operators that hold operators; asking once is enough."""
    known = _names.get(kind)
    if known is None:
        own = {field.name for field in fields(kind)}
        known = _names[kind] = tuple(name for name in _INPUTS if name in own)
    return known


_names: dict[type, tuple[str, ...]] = {}


def with_inputs(node: Node, below: Sequence[Node]) -> Node:
    """The same operator above others, given in the order of ``inputs``."""
    if isinstance(node, Product):
        return Product(tuple(below), node.rows)
    if isinstance(node, UnionRows):
        return replace(node, parts=tuple(below))
    return replace_inputs(node, dict(zip(_input_names(type(node)), below, strict=True)))


def replace_inputs(node: Node, change: Mapping[str, Node]) -> Node:
    """The same operator above others."""
    values = {field.name: getattr(node, field.name) for field in fields(node)}
    return type(node)(**(values | dict(change)))


def counts_rows(fold: Aggregate | BlockAggregate) -> bool:
    """Whether an aggregate counts rows, whatever is in them: an entity is never NULL."""
    return (
        fold.func is AggregateFunc.COUNT
        and not fold.distinct
        and (fold.operand is None or is_entity(fold.operand))
    )


def is_entity(operand: Expr | None) -> bool:
    """Whether an operand is a whole entity that is never NULL."""
    return isinstance(operand, EntityRef) and not operand.nullable


def walk(node: Node) -> Iterator[Node]:
    """An operator and all below it, from the top."""
    pending = [node]
    while pending:
        found = pending.pop()
        yield found
        pending.extend(reversed(inputs(found)))


def output_slots(node: Node) -> tuple[Slot, ...]:
    """The slots that the rows of an operator have."""
    match node:
        case Values(slots) | Project(slots=slots):
            return slots
        case Scan(slot):
            return () if node.counted else (slot.slot,)
        case Expand() | EdgeEnds() | Bind() | UnionRows() | UnwindRows() | OptionalRows():
            return _bound_slots(node)
        case Join() | Product():
            return tuple(slot for below in inputs(node) for slot in output_slots(below))
        case Match(below, block):
            return (*output_slots(below), *(each.slot for each in block.slots))
        case Group() | MetadataCount():
            keys = node.keys if isinstance(node, Group) else ()
            return tuple(key.slot for key in keys if isinstance(key, EntityRef))
        case _:
            return output_slots(node.input)


def _bound_slots(
    node: Expand | EdgeEnds | Bind | UnionRows | UnwindRows | OptionalRows,
) -> tuple[Slot, ...]:
    match node:
        case Expand():
            return _expanded_slots(node)
        case EdgeEnds(below, binds=binds) | OptionalRows(below, binds=binds):
            return (*output_slots(below), *binds)
        case Bind(outputs=outputs) | UnionRows(outputs=outputs):
            return tuple(each.slot for each in outputs)
        case UnwindRows(below, item):
            return (*output_slots(below), item.slot)


def _expanded_slots(node: Expand) -> tuple[Slot, ...]:
    if node.keeps is not None:
        return node.keeps
    made = () if node.closes else (node.end,)
    edge = () if node.hop.edge_slot is None else (node.hop.edge_slot,)
    return (*output_slots(node.input), *made, *edge)
