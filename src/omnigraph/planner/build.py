"""From the IR to a first plan, in the order of the definition.

match → values of blocks → scores → group → sort → page → return. Passes make it fast.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.errors import InvalidInput, InvariantBroken
from omnigraph.ir.expressions import RankFusion, Score, TextMatch
from omnigraph.ir.queries import Block, EntitySlot, Hop, Stage, Union
from omnigraph.ir.walk import aggregates, blocks, nodes, slots_bound, slots_read
from omnigraph.planner.plan import (
    Apply,
    Bind,
    Filter,
    Group,
    Limit,
    Match,
    Node,
    Plan,
    Return,
    Scores,
    Sort,
    UnionRows,
    Values,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from omnigraph.ir.expressions import Expr, Slot
    from omnigraph.ir.queries import OrderKey, ReadIR, Table

__all__ = ["apply_blocks", "build", "scores_in"]


# Each of them may become an operator above all others, and operators call each other: so many fit
# the stack of any thread, with a profile and within a server.
_PATTERN_PARTS_MAX = 200


def build(ir: ReadIR) -> Plan:
    """The plan that follows the definition."""
    parts = tuple(nodes(ir))
    _require_size(parts)
    searched = tuple(each for each in parts if isinstance(each, TextMatch | Score))
    slots = [each for each in parts if isinstance(each, EntitySlot)]
    nullable = frozenset(each.slot for each in slots if each.nullable)
    root = Return(_rows(ir), ir.returns)
    return Plan(ir, root, _slot_types(slots), searched=searched, nullable=nullable)


def _table(table: Table) -> Node:
    """The rows of a source, with the slots of its columns."""
    match table:
        case Stage():
            return Bind(_rows(table), table.returns, table.outputs)
        case Union(parts, distinct, outputs):
            return UnionRows(tuple(map(_table, parts)), outputs, distinct)


def _rows(ir: ReadIR | Stage) -> Node:
    """The rows of a stage, in order and by page."""
    order = _shown_order(ir)
    exprs = [projection.expr for projection in ir.returns]
    ordering = {id(key.expr): key.expr for key in order}
    tested = {} if ir.having is None else {id(ir.having): ir.having}
    grouped = ir.distinct or any(map(aggregates, (*exprs, *tested.values())))
    # Values that are only shown are computed for the rows that are shown. Groups are made of
    # values; an expression that reads no slot has one even for a group of no rows.
    shown = {
        id(expr): expr
        for expr in exprs
        if id(expr) not in ordering and not (grouped and slots_read(expr))
    }
    needed = {id(expr): expr for expr in exprs if id(expr) not in shown} | ordering | tested
    source = ir.match.source
    node: Node = Match(Values(()) if source is None else _table(source), ir.match)
    node = apply_blocks(node, (expr for expr in needed.values() if slots_read(expr)))
    scores = scores_in((*needed.values(), *shown.values()))
    if scores:
        ranked = tuple(score for score in scores if any(score is key.expr for key in order))
        node = Scores(node, scores, ranked)
    ties: tuple[Slot, ...] = tuple(sorted(slots_bound(ir.match)))
    if grouped:
        node, ties = _grouped(node, ir, order), ()
    node = apply_blocks(node, (expr for expr in needed.values() if not slots_read(expr)))
    if ir.having is not None:
        node = Filter(node, (ir.having,))
    staged = isinstance(ir, Stage)
    if not staged or ir.limit is not None or ir.offset is not None:
        node = Sort(node, order, ties, staged=staged)
        node = Limit(node, ir.offset, ir.limit, staged=staged)
    return apply_blocks(node, shown.values())


def apply_blocks(node: Node, exprs: Iterable[Expr]) -> Node:
    """Compute the values of all blocks that expressions ask."""
    for expr in exprs:
        for asked in blocks(expr):
            slots = tuple(sorted(slots_read(asked)))
            node = Apply(node, asked, Match(Values(slots), asked.block), slots)
    return node


def scores_in(exprs: Iterable[Expr]) -> tuple[Score | RankFusion, ...]:
    """The scores that expressions show, each object once; those inside a fusion belong to it."""
    found: dict[int, Score | RankFusion] = {}
    for expr in exprs:
        _collect_scores(expr, found)
    return tuple(found.values())


def _collect_scores(expr: Expr, found: dict[int, Score | RankFusion]) -> None:
    if isinstance(expr, Score | RankFusion):
        found.setdefault(id(expr), expr)
        return
    if not any(isinstance(part, Score | RankFusion) for part in nodes(expr)):
        return
    asked = {id(part) for asks in blocks(expr) for part in nodes(asks)}
    inside = {
        id(part)
        for fusion in nodes(expr)
        if isinstance(fusion, RankFusion)
        for part in fusion.scores
    }
    for part in nodes(expr):
        if isinstance(part, Score | RankFusion) and id(part) not in asked | inside:
            found.setdefault(id(part), part)


def _grouped(node: Node, ir: ReadIR | Stage, order: tuple[OrderKey, ...]) -> Group:
    exprs = [projection.expr for projection in ir.returns]
    wanted = (*exprs, *(key.expr for key in order), *((ir.having,) if ir.having else ()))
    folds = {id(fold): fold for expr in wanted for fold in aggregates(expr)}
    keys = {id(expr): expr for expr in exprs if not aggregates(expr) and slots_read(expr)}
    return Group(node, tuple(keys.values()), tuple(folds.values()))


def _require_size(found: Sequence[object]) -> None:
    parts = sum(isinstance(each, EntitySlot | Hop | Block) for each in found)
    if parts > _PATTERN_PARTS_MAX:
        raise InvalidInput(
            "query.too_complex",
            f"the query has {parts} variables, traversals and blocks; "
            f"at most {_PATTERN_PARTS_MAX} can be planned together",
            details={
                "resource_limit": {
                    "name": "pattern_parts",
                    "limit": _PATTERN_PARTS_MAX,
                    "actual": parts,
                }
            },
            remedy="split the pattern into several queries",
        )


def _shown_order(ir: ReadIR | Stage) -> tuple[OrderKey, ...]:
    """The order keys; one that is also shown is the same object as the column."""
    shown = {projection.expr: projection.expr for projection in reversed(ir.returns)}
    return tuple(replace(key, expr=shown.get(key.expr, key.expr)) for key in ir.order)


def _slot_types(slots: Iterable[EntitySlot]) -> Mapping[Slot, str]:
    types: dict[Slot, str] = {}
    for each in slots:
        if types.setdefault(each.slot, each.type_id) != each.type_id:
            raise InvariantBroken(10, f"slot {each.slot} has two types")
    return types
