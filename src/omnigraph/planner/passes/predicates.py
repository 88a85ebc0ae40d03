"""Conditions on one scanned slot move into its scan, where indexes and pushed filters answer them.

An equality with an id, or membership in a list of ids, becomes the way into the table.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.ir.expressions import Compare, CompareOp, InList, PropertyRef
from omnigraph.ir.walk import slots_read
from omnigraph.planner.plan import Filter, Node, Scan
from omnigraph.planner.rewrite import change_nodes

if TYPE_CHECKING:
    from omnigraph.ir.expressions import Expr
    from omnigraph.planner.plan import Plan
    from omnigraph.planner.statistics import PlannerStatistics

__all__ = ["push_predicates"]


def push_predicates(plan: Plan, _: PlannerStatistics) -> Plan:
    """Merge each filter with the scan below it."""
    return replace(plan, root=change_nodes(plan.root, _pushed))


def _pushed(node: Node) -> Node:
    if not isinstance(node, Filter) or not isinstance(node.input, Scan):
        return node
    scan = node.input
    if any(slots_read(condition) != {scan.slot.slot} for condition in node.conditions):
        # A condition that reads no slot decides about everything: not the scan's business.
        return node
    conditions = list(node.conditions)
    ids = scan.ids
    if ids is None:
        found = next((each for each in conditions if _ids_of(each) is not None), None)
        if found is not None:
            ids = _ids_of(found)
            conditions.remove(found)
    return replace(scan, ids=ids, filters=(*scan.filters, *conditions), rows=node.rows)


def _ids_of(condition: Expr) -> Expr | None:
    """The value that the id must be equal to, or a list that it must be in."""
    match condition:
        case Compare(CompareOp.EQ, PropertyRef(prop="@id"), other) if not slots_read(other):
            return other
        case Compare(CompareOp.EQ, other, PropertyRef(prop="@id")) if not slots_read(other):
            return other
        case InList(PropertyRef(prop="@id"), options) if not slots_read(options):
            return options
        case _:
            return None
