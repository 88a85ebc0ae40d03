"""Guesses of how many rows there will be. They choose between plans; no answer depends on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.datatypes.types import BOOL, EnumType
from omnigraph.ir.expressions import (
    And,
    Compare,
    CompareOp,
    Const,
    Exists,
    InList,
    IsNull,
    ListContains,
    MakeList,
    Not,
    Or,
    PropertyRef,
    StringMatch,
    StringOp,
    TextMatch,
)
from omnigraph.semantics.domain import MIRRORED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from omnigraph.ir.expressions import Expr, Slot
    from omnigraph.ir.queries import Hop
    from omnigraph.planner.statistics import PlannerStatistics

__all__ = ["fan_out", "selectivity", "share_of"]

_EQUAL = 0.05
_RANGE = 0.3
_UNKNOWN = 0.5
_LIST_PARAMETER = 10


def share_of(filters: Iterable[Expr], types: Mapping[Slot, str], facts: PlannerStatistics) -> float:
    """The share of rows that pass all filters, taken as independent."""
    share = 1.0
    for condition in filters:
        share *= selectivity(condition, types, facts)
    return share


def selectivity(expr: Expr, types: Mapping[Slot, str], facts: PlannerStatistics) -> float:
    """The share of rows for which a condition is true."""
    match expr:
        case And(operands):
            return share_of(operands, types, facts)
        case Or(operands):
            return min(1.0, sum(selectivity(part, types, facts) for part in operands))
        case Not(operand):
            return max(0.1, 1.0 - selectivity(operand, types, facts))
        case Compare(op, left, right):
            return _compared(op, left, right, types, facts)
        case InList(item, options):
            count = len(options.items) if isinstance(options, MakeList) else _LIST_PARAMETER
            return min(1.0, count * _equal(item, types, facts))
        case Const(value):
            return 1.0 if value else 0.0
        case _:
            return _shape(expr)


def _shape(expr: Expr) -> float:
    match expr:
        case IsNull(negated=negated):
            return 0.9 if negated else 0.1
        case StringMatch(op=op):
            return 0.05 if op is StringOp.STARTS_WITH else 0.1
        case ListContains() | TextMatch():
            return _EQUAL
        case Exists():
            return _UNKNOWN
        case _:
            return _UNKNOWN


def _compared(
    op: CompareOp, left: Expr, right: Expr, types: Mapping[Slot, str], facts: PlannerStatistics
) -> float:
    if isinstance(right, PropertyRef) and not isinstance(left, PropertyRef):
        op, left = MIRRORED[op], right
    match op:
        case CompareOp.EQ:
            return _equal(left, types, facts)
        case CompareOp.NE:
            return 1.0 - _equal(left, types, facts)
        case _:
            return _RANGE


def _equal(expr: Expr, types: Mapping[Slot, str], facts: PlannerStatistics) -> float:
    if not isinstance(expr, PropertyRef):
        return _EQUAL
    type_id = types[expr.slot]
    if facts.is_unique(type_id, expr.prop):
        return 1.0 / facts.count(type_id)
    if isinstance(expr.dtype, EnumType):
        return 1.0 / max(len(expr.dtype.values), 1)
    return _UNKNOWN if expr.dtype == BOOL else _EQUAL


def fan_out(hop: Hop, facts: PlannerStatistics, *, forward: bool) -> float:
    """How many nodes a hop finds from one."""
    edge = facts.edge(hop.edge_type)
    edges = float(facts.rows.get(hop.edge_type, 0))
    here, there = (edge.source, edge.target) if forward else (edge.target, edge.source)
    once = edges / facts.count(here)
    if hop.undirected:
        once += edges / facts.count(there)
    reached = sum(once**depth for depth in range(max(hop.min_hops, 1), hop.max_hops + 1))
    return min(reached, facts.count(there)) if hop.max_hops > 1 else once
