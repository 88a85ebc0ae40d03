"""The passes, in the order in which they run.

Each takes a plan and statistics and returns a plan that has the same rows. Leaving one out changes
the cost of a query, never its result; only ``join_order`` is needed, since it makes operators out
of patterns.

Modules in reading order:

* ``constants``: simplifies conditions.
* ``literals``: fits literals to the columns that they are compared with.
* ``keys``: replaces keys by ids.
* ``join_order``: replaces patterns by operators.
* ``factorise``: aggregates over products of components.
* ``predicates``: pushes conditions into scans.
* ``metadata``: counts from row counts of pins.
* ``pruning``: drops slots that nothing reads.
* ``top``: passes limits to sorts.
* ``projection``: the columns to read.
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
