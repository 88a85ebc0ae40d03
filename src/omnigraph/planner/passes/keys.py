"""Replacement of keys by ids: a key of one String equals the id of its entity."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.catalog.model import ID
from omnigraph.ir.expressions import Compare, CompareOp, InList, PropertyRef
from omnigraph.planner.rewrite import change_blocks, rewrite

if TYPE_CHECKING:
    from omnigraph.planner.plan import Plan
    from omnigraph.planner.statistics import PlannerStatistics

__all__ = ["use_keys"]


def use_keys(plan: Plan, facts: PlannerStatistics) -> Plan:
    """Replace a key by the id in equality comparisons and lists."""

    def as_id(expr: object) -> object:
        if isinstance(expr, PropertyRef) and facts.is_id(plan.types[expr.slot], expr.prop):
            return PropertyRef(expr.slot, ID.id, ID.dtype, nullable=False)
        return expr

    def change(node: object) -> object:
        match node:
            case Compare(CompareOp.EQ, left, right):
                return _replaced(node, left=as_id(left), right=as_id(right))
            case InList(item, _):
                return _replaced(node, item=as_id(item))
            case _:
                return node

    return replace(plan, root=change_blocks(plan.root, lambda block: rewrite(block, change)))


def _replaced(node: Compare | InList, **parts: object) -> Compare | InList:
    if all(getattr(node, name) is part for name, part in parts.items()):
        return node
    return replace(node, **parts)  # type: ignore[arg-type]  # the same fields
