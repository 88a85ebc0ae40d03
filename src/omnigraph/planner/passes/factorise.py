"""Aggregates over a cross product are computed from its components, without making the product.

The components of a pattern share no slot, hop or condition, so the rows of the pattern are all
combinations of theirs. A group key or the operand of an aggregate that reads several components
links them: those are joined, and the rest stays factorised. Block values and scores move into the
component that they read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from omnigraph.ir.expressions import AggregateFunc, BlockAggregate, RankFusion
from omnigraph.ir.walk import nodes, slots_read
from omnigraph.planner.plan import (
    Apply,
    Group,
    Join,
    Limit,
    Node,
    Product,
    Return,
    Scores,
    Sort,
    output_slots,
)
from omnigraph.planner.rewrite import change_nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from omnigraph.ir.expressions import Expr, Slot
    from omnigraph.planner.plan import Plan
    from omnigraph.planner.statistics import PlannerStatistics

__all__ = ["factorise"]

_Slots = frozenset["Slot"]
# Aggregates that factorised rows are not enough for.
_WHOLE_ROWS = frozenset(
    {
        *(AggregateFunc.COLLECT, AggregateFunc.MIN_BY, AggregateFunc.MAX_BY),
        *(AggregateFunc.PERCENTILE, AggregateFunc.STDDEV, AggregateFunc.STDDEV_POP),
    }
)


def factorise(plan: Plan, _: PlannerStatistics) -> Plan:
    """Replace cross joins below aggregates by products."""
    return replace(plan, root=change_nodes(plan.root, _factorised))


def _factorised(node: Node) -> Node:
    match node:
        case Group():
            return _factorised_group(node)
        case Apply(expr=BlockAggregate() as expr, inner=inner):
            parts = _linked(_components(inner), [slots_read((expr.operand,))])
            whole = len(parts) == 1 or expr.func in _WHOLE_ROWS
            return node if whole else replace(node, inner=_product(parts))
        case Sort(below) | Limit(below) | Return(below):
            return replace(node, rows=min(node.rows, below.rows))
        case _:
            return node


def _factorised_group(group: Group) -> Group:
    above, below = _values_above(group.input)
    parts = _components(below)
    if any(fold.func in _WHOLE_ROWS for fold in group.folds):
        return group
    if len(parts) == 1 or any(map(_has_fusion, above)):
        # A fusion ranks all rows of the product.
        return group
    exprs = (*group.keys, *group.folds)
    values = [each for node in above for each in _split(node)]
    links = [slots_read(expr) for expr in exprs]
    links += [_link(each, exprs) for each in values]
    parts = _linked(parts, links)
    if len(parts) == 1:
        return group
    for each in reversed(values):
        link = _link(each, exprs)
        part = next(part for part in parts if link <= part.slots)
        part.node = replace(each, input=part.node, rows=part.node.rows)
    # There are at most as many groups as combinations of the components with keys.
    keyed = [part.node.rows for part in parts if part.slots & slots_read(group.keys)]
    rows = min(group.rows, math.prod(keyed))
    return replace(group, input=_product(parts), rows=rows)


@dataclass(eq=False)
class _Component:
    node: Node
    slots: _Slots


def _components(node: Node) -> list[_Component]:
    """The operands of the cross joins at the top of a plan, in order."""
    if isinstance(node, Join) and not node.equal:
        return [*_components(node.left), *_components(node.right)]
    return [_Component(node, frozenset(output_slots(node)))]


def _linked(parts: Sequence[_Component], links: Iterable[_Slots]) -> list[_Component]:
    """The components, those joined that a link reads together."""
    found = list(parts)
    for link in links:
        together = [part for part in found if part.slots & link]
        for other in together[1:]:
            first = together[0]
            rows = first.node.rows * other.node.rows
            first.node = Join(first.node, other.node, rows=rows)
            first.slots |= other.slots
            found.remove(other)
    return found


def _product(parts: Sequence[_Component]) -> Product:
    components = tuple(part.node for part in parts)
    return Product(components, math.prod(part.rows for part in components))


# --- block values and scores ---


def _values_above(node: Node) -> tuple[list[Apply | Scores], Node]:
    """The operators that compute values for the rows of a pattern, and the pattern."""
    above: list[Apply | Scores] = []
    while isinstance(node, Apply | Scores):
        above.append(node)
        node = node.input
    return above, node


def _has_fusion(node: Apply | Scores) -> bool:
    return isinstance(node, Scores) and any(isinstance(each, RankFusion) for each in node.scores)


def _split(node: Apply | Scores) -> list[Apply | Scores]:
    """The same values, each by an operator of its own."""
    if isinstance(node, Apply):
        return [node]
    ranked = {id(each) for each in node.ranked}
    return [
        replace(node, scores=(score,), ranked=(score,) if id(score) in ranked else ())
        for score in node.scores
    ]


def _link(node: Apply | Scores, exprs: Sequence[Expr]) -> _Slots:
    """The slots that a value reads, and those of the expressions that it is a part of."""
    value: Expr = node.expr if isinstance(node, Apply) else node.scores[0]
    whole = [expr for expr in exprs if any(part is value for part in nodes(expr))]
    return slots_read((value, *whole))
