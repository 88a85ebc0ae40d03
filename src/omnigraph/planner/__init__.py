"""Plans of reads.

Modules in reading order:

* ``plan``: the operators.
* ``statistics``: the schema and row counts that plans are based on.
* ``build``: the first plan, in the order of the definition.
* ``rewrite``: rewrites trees of the IR and of plans.
* ``estimates``: estimates of rows.
* ``passes``: rewrites that make a plan fast.
* ``access``: chooses between columns in memory and lookups.
* ``pushable``: conditions that a scan of a table answers.
* ``indexable``: conditions that an index answers.
* ``explain``: a plan for people and programs.
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
