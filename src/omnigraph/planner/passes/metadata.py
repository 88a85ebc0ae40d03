"""Counting all entities of a type needs no scan: the pin knows how many there are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.ir.expressions import AggregateFunc
from omnigraph.planner.plan import Group, MetadataCount, Node, Scan, is_entity
from omnigraph.planner.rewrite import change_nodes

if TYPE_CHECKING:
    from omnigraph.ir.expressions import Aggregate
    from omnigraph.planner.plan import Plan
    from omnigraph.planner.statistics import PlannerStatistics

__all__ = ["count_from_metadata"]


def count_from_metadata(plan: Plan, _: PlannerStatistics) -> Plan:
    """Replace counts of everything by the row count of the pin."""
    return replace(plan, root=change_nodes(plan.root, _counted))


def _counted(node: Node) -> Node:
    if not isinstance(node, Group) or not isinstance(node.input, Scan):
        return node
    # A group of constants counts nothing: it has a row only where the scan has one.
    if node.keys or not node.folds:
        return node
    scan = node.input
    if scan.ids is not None or scan.filters or not all(map(_counts_rows, node.folds)):
        return node
    return MetadataCount(scan.slot.type_id, node.folds)


def _counts_rows(fold: Aggregate) -> bool:
    """An entity is never NULL, and the rows of a scan are distinct."""
    if fold.func is not AggregateFunc.COUNT:
        return False
    return fold.operand is None or is_entity(fold.operand)
