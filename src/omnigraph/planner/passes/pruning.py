"""Slots that nothing needs any more are dropped, and rows that then look alike are merged.

Merging is right where it makes no difference how often a row occurs: below ``distinct``,
``count(distinct …)``, ``min`` and ``max``, and inside ``exists``. It turns walks, of which there
are many, into sets of nodes, of which there are few. A pattern without needed slots is reduced to
its number of rows, or to whether it has one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.ir.expressions import AggregateFunc, Exists, RankFusion
from omnigraph.ir.walk import slots_read
from omnigraph.planner.plan import (
    Apply,
    Bind,
    EdgeEnds,
    Expand,
    Filter,
    Group,
    Join,
    Limit,
    Match,
    MetadataCount,
    Node,
    OptionalRows,
    Product,
    Project,
    Return,
    Scan,
    Scores,
    SemiJoin,
    Sort,
    UnionRows,
    UnwindRows,
    Values,
    counts_rows,
    is_entity,
    output_slots,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from omnigraph.ir.expressions import Aggregate, BlockAggregate, Expr, Slot
    from omnigraph.planner.plan import Plan
    from omnigraph.planner.statistics import PlannerStatistics

__all__ = ["prune_slots"]

_Slots = frozenset["Slot"]
_EXTREMES = (
    AggregateFunc.MIN,
    AggregateFunc.MAX,
    AggregateFunc.MIN_BY,
    AggregateFunc.MAX_BY,
)


def prune_slots(plan: Plan, _: PlannerStatistics) -> Plan:
    """Drop what is not needed, from the top down."""
    return replace(plan, root=_prune(plan.root, None, once=False))


def _prune(node: Node, needed: _Slots | None, *, once: bool) -> Node:
    """``needed`` are the slots that are read above (None: all); ``once``: rows are a set there."""
    match node:
        case Return() | Limit() | Sort():
            return replace(node, input=_prune(node.input, needed, once=once))
        case Group():
            return _prune_group(node)
        case Scores(below, scores):
            return replace(node, input=_prune_scored(below, scores, needed, once=once))
        case Apply() | SemiJoin():
            return _prune_asking(node, needed, once=once)
        case Filter() | Expand() | EdgeEnds() | Join():
            return _prune_pattern(node, needed, once=once)
        case Scan():
            return _prune_scan(node, needed, once=once)
        case Bind() | UnionRows() | UnwindRows() | OptionalRows():
            return _prune_table(node, needed, once=once)
        case Values() | MetadataCount() | Project() | Match() | Product():
            return node


def _prune_table(
    node: Bind | UnionRows | UnwindRows | OptionalRows, needed: _Slots | None, *, once: bool
) -> Node:
    """The rows of a table are a bag: where a set is wanted, equal ones are merged above it."""
    pruned: Node
    match node:
        case Bind(below):
            pruned = replace(node, input=_prune(below, None, once=False))
        case UnionRows(parts):
            pruned = replace(node, parts=tuple(_prune(part, None, once=False) for part in parts))
        case UnwindRows(below, items=items):
            pruned = replace(node, input=_prune(below, _and(needed, (items,)), once=once))
        case OptionalRows(below, inner, slots):
            above = None if needed is None else needed | frozenset(slots)
            pruned = replace(
                node,
                input=_prune(below, above, once=once),
                inner=_prune(inner, None, once=False),
            )
    if not once:
        return pruned
    available = output_slots(pruned)
    keeps = tuple(slot for slot in available if needed is None or slot in needed)
    return Project(pruned, keeps, distinct=True, rows=node.rows)


def _prune_group(node: Group) -> Node:
    needed = slots_read((node.keys, *map(_values_read, node.folds)))
    if isinstance(node.input, Product):
        return replace(node, input=_prune_product(node.input, needed, node.folds))
    sets = all(map(_ignores_repeats, node.folds))
    pruned = _prune(node.input, needed, once=sets)
    if not (sets and _counts_rows(node, pruned)):
        return replace(node, input=pruned)
    return replace(node, input=_counted(pruned), counts_rows=True)


def _prune_product(
    product: Product, needed: _Slots, folds: Sequence[Aggregate | BlockAggregate]
) -> Product:
    """Each component alone. The rows of one are a set if no fold depends on how many they are."""
    pruned = []
    for part in product.parts:
        slots = frozenset(output_slots(part))
        repeats = any(_depends_on_repeats(fold, slots) for fold in folds)
        pruned.append(_prune(part, needed, once=not repeats))
    return replace(product, parts=tuple(pruned))


def _prune_scan(node: Scan, needed: _Slots | None, *, once: bool) -> Node:
    if needed is None or node.slot.slot in needed:
        return node
    if node.ids is None and not node.filters:
        node = replace(node, counted=True)
    return Project(node, (), distinct=True, rows=min(node.rows, 1.0)) if once else node


def _prune_pattern(
    node: Filter | Expand | EdgeEnds | Join, needed: _Slots | None, *, once: bool
) -> Node:
    kept: Node
    match node:
        case Expand():
            return _prune_expand(node, needed, once=once)
        case Filter(below, conditions):
            kept = replace(node, input=_prune(below, _and(needed, conditions), once=once))
        case EdgeEnds(below, hop):
            above = _and(needed, (hop,))
            inner = None if above is None else above - frozenset(node.binds)
            kept = replace(node, input=_prune(below, inner, once=once))
        case Join(left, right, equal):
            above = _and(needed, (equal,))
            sides = (_prune(left, above, once=once), _prune(right, above, once=once))
            kept = replace(node, left=sides[0], right=sides[1])
    return _dropped(kept, needed) if once else kept


def _prune_expand(node: Expand, needed: _Slots | None, *, once: bool) -> Node:
    hop = node.hop
    if needed is None:
        return replace(node, input=_prune(node.input, None, once=once))
    made = {node.end} if not node.closes else set()
    made |= {hop.edge_slot} if hop.edge_slot is not None else set()
    below = (needed - made) | {node.start} | ({node.end} if node.closes else set())
    pruned = replace(node, input=_prune(node.input, below, once=once))
    available = output_slots(pruned)
    keeps = tuple(slot for slot in available if slot in needed)
    if len(keeps) == len(available):
        return pruned
    return replace(pruned, keeps=keeps, distinct=once)


def _prune_scored(
    below: Node, scores: Iterable[object], needed: _Slots | None, *, once: bool
) -> Node:
    scores = tuple(scores)
    if any(isinstance(score, RankFusion) for score in scores):
        # Ranks are ranks among all rows, and ties go by all ids.
        return _prune(below, None, once=False)
    return _prune(below, _and(needed, scores), once=once)


def _prune_asking(node: Apply | SemiJoin, needed: _Slots | None, *, once: bool) -> Node:
    slots = frozenset(node.slots)
    below = _prune(node.input, None if needed is None else needed | slots, once=once)
    if isinstance(node, SemiJoin):
        inner = _prune(node.inner, slots, once=True)
        kept: Node = replace(node, input=below, inner=inner)
        return _dropped(kept, needed) if once else kept
    return replace(node, input=below, inner=_prune_folded(node, slots))


def _prune_folded(node: Apply, slots: _Slots) -> Node:
    if isinstance(node.expr, Exists):
        return _prune(node.inner, slots, once=True)
    inside = slots | slots_read((_values_read(node.expr),))
    if isinstance(node.inner, Product):
        return _prune_product(node.inner, inside, (node.expr,))
    return _prune(node.inner, inside, once=_ignores_repeats(node.expr))


def _dropped(node: Node, needed: _Slots | None) -> Node:
    """Without the slots that only the operator itself has needed."""
    available = output_slots(node)
    keeps = tuple(slot for slot in available if needed is None or slot in needed)
    return (
        node
        if len(keeps) == len(available)
        else Project(node, keeps, distinct=True, rows=node.rows)
    )


def _and(needed: _Slots | None, read: Iterable[object]) -> _Slots | None:
    return None if needed is None else needed | slots_read(tuple(read))


def _counts_rows(node: Group, pruned: Node) -> bool:
    """Whether distinct entities are counted, and rows are those entities."""
    slots = output_slots(pruned)
    return (
        not node.keys
        and bool(node.folds)
        and len(slots) == 1
        and all(fold.func is AggregateFunc.COUNT and is_entity(fold.operand) for fold in node.folds)
    )


def _counted(node: Node) -> Node:
    """The same rows, which nobody looks at: a hop need not list the nodes that it has found."""
    if isinstance(node, Expand) and node.distinct and not node.closes:
        return replace(node, counted=node.keeps == (node.end,))
    return node


def _values_read(fold: Aggregate | BlockAggregate) -> tuple[Expr | None, ...]:
    """The expressions whose values an aggregate reads; none if it only counts rows."""
    return () if counts_rows(fold) else (fold.operand, fold.parameter)


def _depends_on_repeats(fold: Aggregate | BlockAggregate, slots: _Slots) -> bool:
    """Whether an aggregate over a product depends on how often the rows of a component occur. The
    mean over one component does not depend on the others."""
    if _ignores_repeats(fold):
        return False
    return fold.func is not AggregateFunc.AVG or bool(slots_read((fold.operand,)) & slots)


def _ignores_repeats(fold: Aggregate | BlockAggregate) -> bool:
    return fold.distinct or fold.func in _EXTREMES
