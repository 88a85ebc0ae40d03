"""Where a plan takes its values from: memory that it fills, or lookups by id.

Loading a column or a topology costs time once and makes every later query on the same pin fast;
looking up costs little now and the same again next time. So small tables are loaded, and large ones
once lookups of this pin have cost a good part of what loading would. The choice changes what a
query costs, never what it answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from omnigraph.frozen import frozen
from omnigraph.planner.plan import Access, EdgeEnds, Expand, Node, Plan, Scan, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from omnigraph.ir.expressions import Score, TextMatch
    from omnigraph.planner.statistics import PlannerStatistics

__all__ = ["AccessChoice", "Memory", "choose_access"]

# Rough costs, in seconds: enough to separate milliseconds from seconds.
_COLUMN_ROW = 50e-9
_INDEX_ROW = 150e-9
_EDGE = 500e-9
_REQUEST = 1e-3
_FOUND_ROW = 2e-6
_LOOKUPS_MAX = 2_000
# Loading that takes no longer than this is not worth thinking about.
_QUICK = 10e-3
# Lookups may cost this share of what loading costs before the whole is loaded.
_PATIENCE = 0.25
_CELL_BYTES = 32


class Memory(Protocol):
    """The content of memory, and the cost of reads without it so far."""

    @property
    def budget_bytes(self) -> int: ...

    def has_column(self, type_id: str, prop: str) -> bool: ...

    def has_ids(self, type_id: str) -> bool: ...

    def has_topology(self, edge_type: str) -> bool: ...

    def has_index(self, type_id: str, prop: str) -> bool:
        """Whether an index finds rows by a value of the property."""
        ...

    def spent(self, type_id: str) -> float:
        """Seconds spent on lookups in this pin."""
        ...

    def how_searched(self, type_id: str, expr: TextMatch | Score, *, of_all: bool) -> str:
        """The index that a search would use now, or why it would use none; ``of_all``: the best of
        all rows are wanted, and no more than the first of them."""
        ...


@frozen
class AccessChoice:
    """A choice and its reason."""

    access: Access
    why: str


def choose_access(
    plan: Plan,
    facts: PlannerStatistics,
    memory: Memory,
    forced: Access | None = None,
    *,
    streamed: bool = False,
) -> AccessChoice:
    """Choose the source of values; a stream reads returned columns batch by batch."""
    if forced is not None:
        return AccessChoice(forced, f"{forced.value} was asked for")
    if plan.searched:
        return AccessChoice(Access.RESIDENT, "search works on rows by position")
    needed = list(_needed(plan, facts, memory, streamed=streamed))
    missing = [part for part in needed if not part.is_there]
    if not needed:
        return AccessChoice(Access.RESIDENT, "nothing has to be found first")
    if not missing:
        return AccessChoice(Access.RESIDENT, "what finds the rows is in memory")
    load = sum(part.seconds for part in missing)
    if sum(part.bytes for part in missing) > memory.budget_bytes:
        return AccessChoice(Access.LOOKED_UP, "what is missing is larger than the memory for it")
    look_up = sum(_lookup_seconds(node, facts, memory) for node in walk(plan.root))
    spent = sum(memory.spent(type_id) for type_id in _types(plan))
    if load <= max(_QUICK, look_up):
        return AccessChoice(
            Access.RESIDENT, f"loading takes about {_ms(load)}, looking up {_ms(look_up)}"
        )
    if spent >= _PATIENCE * load:
        return AccessChoice(
            Access.RESIDENT, f"lookups have cost {_ms(spent)}, loading takes {_ms(load)}"
        )
    return AccessChoice(
        Access.LOOKED_UP, f"looking up takes about {_ms(look_up)}, loading {_ms(load)}"
    )


@frozen
class _Needed:
    """A part that a resident plan works with before its rows are known."""

    is_there: bool
    seconds: float
    bytes: float


def _needed(
    plan: Plan, facts: PlannerStatistics, memory: Memory, *, streamed: bool
) -> Iterator[_Needed]:
    """Columns that rows are chosen by, ids that they are found by, edges that are followed."""
    for type_id, reading in (plan.readings or {}).items():
        rows = facts.count(type_id)
        for prop in reading.early:
            if streamed and prop in reading.shown:
                continue
            is_there = memory.has_column(type_id, prop)
            yield _Needed(is_there, rows * _COLUMN_ROW, rows * _CELL_BYTES)
    for type_id in _found_by_id(plan.root):
        rows = facts.count(type_id)
        seconds = rows * (_COLUMN_ROW + _INDEX_ROW)
        yield _Needed(memory.has_ids(type_id), seconds, 2 * rows * _CELL_BYTES)
    for edge_type in _followed(plan.root):
        edges = facts.count(edge_type)
        is_there = memory.has_topology(edge_type)
        yield _Needed(is_there, edges * _EDGE, edges * _CELL_BYTES)


def _lookup_seconds(node: Node, facts: PlannerStatistics, memory: Memory) -> float:
    """The cost of an operator that looks up its values."""
    match node:
        case Scan(counted=True):
            return 0.0
        case Scan(slot, ids):
            if ids is not None and memory.has_index(slot.type_id, "@id"):
                return _REQUEST
            return _REQUEST + facts.count(slot.type_id) * _COLUMN_ROW + node.rows * _FOUND_ROW
        case Expand(below, hop, start):
            end = "@src" if start == hop.source else "@dst"
            indexed = memory.has_index(hop.edge_type, end) and below.rows <= _LOOKUPS_MAX
            read = 0.0 if indexed else facts.count(hop.edge_type) * 2 * _COLUMN_ROW
            return hop.max_hops * (_REQUEST + read) + node.rows * _FOUND_ROW
        case EdgeEnds():
            return node.rows * _FOUND_ROW
        case _:
            return 0.0


def _found_by_id(root: Node) -> Iterable[str]:
    return dict.fromkeys(
        node.slot.type_id for node in walk(root) if isinstance(node, Scan) and node.ids is not None
    )


def _followed(root: Node) -> Iterable[str]:
    hops = (node.hop for node in walk(root) if isinstance(node, Expand | EdgeEnds))
    return dict.fromkeys(hop.edge_type for hop in hops)


def _types(plan: Plan) -> Iterable[str]:
    return (plan.readings or {}).keys()


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms"
