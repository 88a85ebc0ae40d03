"""Which properties of which types a plan reads, and when.

Properties that conditions, hops, aggregates and orders need are read with the entities; those that
are only shown are read for the rows that are shown, when those are far fewer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.catalog.model import EdgeType
from omnigraph.datatypes.types import Scalar, ScalarType, VectorType
from omnigraph.ir.expressions import EntityRef, PropertyRef
from omnigraph.ir.queries import Projection
from omnigraph.ir.walk import nodes
from omnigraph.planner.plan import EdgeEnds, Expand, Reading, Return, Scan, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from omnigraph.catalog.model import EntityType
    from omnigraph.planner.plan import Node, Plan
    from omnigraph.planner.statistics import PlannerStatistics

__all__ = ["entity_properties", "read_columns"]

# Reading everything at once is one request; it pays off unless most of it is thrown away.
_LATE_SHARE = 0.25


def read_columns(plan: Plan, facts: PlannerStatistics) -> Plan:
    """Note the properties of each type, early and late."""
    early: dict[str, dict[str, None]] = {}
    late: dict[str, dict[str, None]] = {}
    for node in walk(plan.root):
        for type_id, prop in _read_by(node, plan, facts):
            into = late if isinstance(node, Return) else early
            into.setdefault(type_id, {})[prop] = None
    at_once = plan.root.rows > _LATE_SHARE * _widest(plan.root)
    readings = {
        type_id: _reading(early.get(type_id, {}), late.get(type_id, {}), at_once=at_once)
        for type_id in _types_used(plan)
    }
    return replace(plan, readings=readings)


def _reading(early: dict[str, None], late: dict[str, None], *, at_once: bool) -> Reading:
    if not at_once:
        return Reading(tuple(early), tuple(late))
    shown = tuple(prop for prop in late if prop not in early)
    return Reading((*early, *shown), shown=shown)


def entity_properties(entity: EntityType) -> Iterator[str]:
    """The properties that an entity shows as a whole; blobs and vectors must be named."""
    yield "@id"
    if isinstance(entity, EdgeType):
        yield from ("@src", "@dst")
    for prop in entity.properties:
        if not isinstance(prop.dtype, VectorType) and prop.dtype != ScalarType(Scalar.BLOB):
            yield prop.id


def _read_by(node: Node, plan: Plan, facts: PlannerStatistics) -> Iterator[tuple[str, str]]:
    if isinstance(node, Expand | EdgeEnds):
        if node.hop.edge_slot is not None:
            yield from ((node.hop.edge_type, end) for end in ("@src", "@dst"))
        return
    for expr in _expressions(node):
        # A stage before the last passes whole entities on, and shows nothing.
        shown = expr.expr if isinstance(node, Return) and isinstance(expr, Projection) else None
        for part in nodes(expr):
            if isinstance(part, PropertyRef):
                yield plan.types[part.slot], part.prop
            elif isinstance(part, EntityRef) and part is shown:
                entity = facts.entity(part.type_id)
                yield from ((part.type_id, prop) for prop in entity_properties(entity))


_EXPRESSIONS = (
    *("ids", "filters", "conditions", "equal", "scores", "keys", "folds"),
    *("projections", "items"),
)


def _expressions(node: Node) -> Iterator[object]:
    for name in (
        "ids",
        "filters",
        "conditions",
        "equal",
        "scores",
        "keys",
        "folds",
        "projections",
        "items",
    ):
        found = getattr(node, name, None)
        if isinstance(found, tuple):
            yield from found
        elif found is not None:
            yield found
    operand = getattr(getattr(node, "expr", None), "operand", None)
    if operand is not None:
        yield operand


def _widest(node: Node) -> float:
    rows = (each.rows for each in walk(node) if isinstance(each, Scan | Expand | EdgeEnds))
    return max(rows, default=0.0)


def _types_used(plan: Plan) -> Iterable[str]:
    edges = (each.hop.edge_type for each in walk(plan.root) if isinstance(each, Expand | EdgeEnds))
    return dict.fromkeys((*plan.types.values(), *edges))
