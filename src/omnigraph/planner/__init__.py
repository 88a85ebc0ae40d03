"""Planning reads: ``build`` follows the definition, ``passes`` make it fast, ``access`` decides
where values come from, ``explain`` tells what was decided.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.planner.build import build
from omnigraph.planner.passes import PASSES
from omnigraph.planner.plan import Plan
from omnigraph.planner.statistics import PlannerStatistics, bucket_of

if TYPE_CHECKING:
    from omnigraph.ir.queries import ReadIR

__all__ = ["PASSES", "Plan", "PlannerStatistics", "bucket_of", "plan_read"]


def plan_read(ir: ReadIR, facts: PlannerStatistics) -> Plan:
    """The plan of a read."""
    plan = build(ir)
    for run in PASSES:
        plan = run(plan, facts)
    return plan
