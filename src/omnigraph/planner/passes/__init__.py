"""The passes, in the order in which they run.

Each takes a plan and facts and gives a plan that has the same rows. Leaving one out changes what a
query costs, never what it answers; only ``join_order`` is needed, since it makes operators out of
patterns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.planner.passes.constants import fold_constants
from omnigraph.planner.passes.factorise import factorise
from omnigraph.planner.passes.join_order import order_joins
from omnigraph.planner.passes.keys import use_keys
from omnigraph.planner.passes.literals import fit_literals
from omnigraph.planner.passes.metadata import count_from_metadata
from omnigraph.planner.passes.predicates import push_predicates
from omnigraph.planner.passes.projection import read_columns
from omnigraph.planner.passes.pruning import prune_slots
from omnigraph.planner.passes.top import keep_top

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.planner.plan import Plan
    from omnigraph.planner.statistics import PlannerStatistics

__all__ = ["PASSES"]

PASSES: tuple[Callable[[Plan, PlannerStatistics], Plan], ...] = (
    fold_constants,
    fit_literals,
    use_keys,
    order_joins,
    factorise,
    push_predicates,
    count_from_metadata,
    prune_slots,
    keep_top,
    read_columns,
)
