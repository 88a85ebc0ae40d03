"""Patterns become operators: where to start, which way to follow each hop, when to filter.

For each connected part of a pattern, every slot is tried as the start; from there the hop that
leaves the fewest rows is followed next, and the start that touches the fewest rows wins. Hops and
conditions are tested as soon as their slots have values. An inner block starts from the rows around
it, or by itself when that touches fewer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.datatypes.types import DATE, DATETIME, I64, STRING, EnumType
from omnigraph.errors import InvariantBroken
from omnigraph.frozen import frozen
from omnigraph.ir.expressions import Compare, CompareOp, Exists, PropertyRef, Slot
from omnigraph.ir.queries import Block, EntitySlot
from omnigraph.ir.walk import blocks, slots_read
from omnigraph.planner.build import scores_in
from omnigraph.planner.estimates import fan_out, selectivity, share_of
from omnigraph.planner.plan import (
    Apply,
    EdgeEnds,
    Expand,
    Filter,
    Given,
    Group,
    Join,
    Match,
    Node,
    Scan,
    Scores,
    SemiJoin,
    inputs,
    replace_inputs,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from omnigraph.ir.expressions import Expr
    from omnigraph.ir.queries import Hop
    from omnigraph.planner.facts import Facts
    from omnigraph.planner.plan import Plan

__all__ = ["order_joins"]

# Trying every start is quadratic; beyond this many slots only the most selective ones are tried.
_STARTS_MAX = 12
# Types whose equality is the equality of their codes.
_JOINABLE = (STRING, I64, DATE, DATETIME)


def order_joins(plan: Plan, facts: Facts) -> Plan:
    """Turn every ``Match`` into scans, expansions, filters and joins."""
    return replace(plan, root=_Orderer(plan.types, facts).resolve(plan.root))


class _Orderer:
    def __init__(self, types: Mapping[Slot, str], facts: Facts) -> None:
        self._types = types
        self._facts = facts

    def resolve(self, node: Node) -> Node:
        """The plan without ``Match``, estimates filled in from below."""
        if isinstance(node, Match):
            return self._rows_of(node.block, self.resolve(node.input))
        if isinstance(node, Apply) and isinstance(node.inner, Match):
            above = self.resolve(node.input)
            inner = self._inner(node.inner.block, node.slots, above.rows)
            return replace(node, input=above, inner=inner, rows=above.rows)
        below = {
            name: self.resolve(child)
            for name in ("input", "left", "right", "inner")
            if (child := getattr(node, name, None)) is not None
        }
        node = replace_inputs(node, below) if below else node
        rows = next((child.rows for child in inputs(node)), node.rows)
        if isinstance(node, Group) and not node.keys:
            rows = 1.0
        return replace(node, rows=rows)

    # --- blocks ---

    def _rows_of(self, block: Block, given: Node) -> Node:
        """The rows of a block that extend given rows."""
        start = _State(given, frozenset(_slots_of(given)), block.slots, block.hops, block.filters)
        state = self._grow(self._settle(start))
        while state.waiting:
            part = self._best_part(block, state)
            state = self._settle(self._join(state, part))
        if state.hops or state.filters:
            raise InvariantBroken(10, "a hop or a filter reads a slot that no block introduces")
        return state.node

    def _inner(self, block: Block, slots: tuple[Slot, ...], rows: float) -> Node:
        """The rows of an inner block: from the rows around it, or by itself, whichever is less."""
        seeded = self._rows_of(block, Given(slots, rows))
        nodes = tuple(slot for slot in slots if slot not in {each.slot for each in block.slots})
        if not nodes or not block.hops:
            return seeded
        around = tuple(EntitySlot(slot, self._types[slot], "") for slot in nodes)
        free = self._rows_of(replace(block, slots=(*around, *block.slots)), Given(()))
        return free if _cost(free) < _cost(seeded) else seeded

    def _best_part(self, block: Block, state: _State) -> _State:
        """A part of the pattern that is joined with nothing yet, from its best start."""
        starts = self._starts(block, state)
        return min((self._part_from(start, state) for start in starts), key=lambda part: part.cost)

    def _starts(self, block: Block, state: _State) -> Sequence[EntitySlot]:
        """The slots of one connected part."""
        part = _connected(state.waiting[0].slot, state)
        starts = [each for each in state.waiting if each.slot in part]
        starts.sort(key=lambda each: self._scan(each, block.filters).rows)
        return starts[:_STARTS_MAX]

    def _part_from(self, start: EntitySlot, state: _State) -> _State:
        part = _connected(start.slot, state)
        inside = _State(
            self._scan(start, ()),
            frozenset({start.slot}),
            tuple(each for each in state.waiting if each.slot in part and each != start),
            tuple(hop for hop in state.hops if slots_read(hop) <= part),
            tuple(each for each in state.filters if slots_read(each) and slots_read(each) <= part),
        )
        return self._grow(self._settle(inside))

    # --- steps ---

    def _grow(self, state: _State) -> _State:
        """Follow hops for as long as one leads on from what is bound."""
        while True:
            steps = [step for hop in state.hops for step in self._steps(hop, state)]
            if not steps:
                return state
            state = min(steps, key=lambda step: step.node.rows)

    def _steps(self, hop: Hop, state: _State) -> list[_State]:
        """What following a hop would lead to; nothing when it has no end that is bound."""
        bound = state.bound
        if hop.edge_slot is not None and hop.edge_slot in bound:
            return [self._follow_edge(hop, state)]
        ends = [
            (start, end)
            for start, end in ((hop.source, hop.target), (hop.target, hop.source))
            if start in bound and end not in bound
        ]
        return [self._settle(self._follow(hop, state, start, end)) for start, end in ends]

    def _follow(self, hop: Hop, state: _State, start: Slot, end: Slot) -> _State:
        found = fan_out(hop, self._facts, forward=start == hop.source)
        node = Expand(state.node, hop, start, end, rows=max(state.node.rows * found, 0.01))
        return state.after(node, hop, {end})

    def _close(self, hop: Hop, state: _State) -> _State:
        """Both ends have values: does the hop join them?"""
        forward = fan_out(hop, self._facts, forward=True)
        backward = fan_out(hop, self._facts, forward=False)
        start, end = (hop.source, hop.target) if forward <= backward else (hop.target, hop.source)
        share = min(1.0, forward / self._facts.count(self._types[hop.target]))
        rows = max(state.node.rows * share, 0.01)
        return state.after(Expand(state.node, hop, start, end, closes=True, rows=rows), hop, set())

    def _follow_edge(self, hop: Hop, state: _State) -> _State:
        edge = hop.edge_slot
        if edge is None:
            raise InvariantBroken(10, "a hop without an edge variable has no bound edge")
        binds = tuple(slot for slot in (hop.source, hop.target) if slot not in state.bound)
        rows = state.node.rows * (2 if hop.undirected else 1)
        return self._settle(
            state.after(EdgeEnds(state.node, hop, edge, binds, rows=rows), hop, set(binds))
        )

    def _settle(self, state: _State) -> _State:
        """Test every hop and condition whose slots all have values."""
        for hop in state.hops:
            ends_bound = {hop.source, hop.target} <= state.bound
            if ends_bound and hop.edge_slot is not None and hop.edge_slot in state.bound:
                return self._follow_edge(hop, state)
            if ends_bound:
                return self._settle(self._close(hop, state))
        ready = tuple(each for each in state.filters if slots_read(each) <= state.bound)
        if not ready:
            return state
        rest = tuple(each for each in state.filters if each not in ready)
        return replace(state, node=self._filtered(state.node, ready), filters=rest)

    def _filtered(self, node: Node, ready: tuple[Expr, ...]) -> Node:
        """Plain conditions first: blocks are asked for the rows that are left."""
        plain = tuple(each for each in ready if not any(blocks(each)) and not scores_in((each,)))
        if plain:
            share = share_of(plain, self._types, self._facts)
            node = Filter(node, plain, rows=max(node.rows * share, 0.01))
        for condition in ready:
            if condition not in plain:
                node = self._asked(node, condition)
        return node

    def _asked(self, node: Node, condition: Expr) -> Node:
        rows = max(node.rows * selectivity(condition, self._types, self._facts), 0.01)
        if isinstance(condition, Exists):
            slots = tuple(sorted(slots_read(condition)))
            inner = self._inner(condition.block, slots, node.rows)
            return SemiJoin(node, inner, slots, condition.negated, rows=rows)
        for asks in blocks(condition):
            slots = tuple(sorted(slots_read(asks)))
            inner = self._inner(asks.block, slots, node.rows)
            node = Apply(node, asks, inner, slots, rows=node.rows)
        scores = scores_in((condition,))
        node = Scores(node, scores, rows=node.rows) if scores else node
        return Filter(node, (condition,), rows=rows)

    # --- parts that share nothing ---

    def _scan(self, slot: EntitySlot, filters: Sequence[Expr]) -> Scan:
        alone = [each for each in filters if slots_read(each) == {slot.slot}]
        share = share_of(alone, self._types, self._facts)
        return Scan(slot, rows=max(self._facts.count(slot.type_id) * share, 0.01))

    def _join(self, state: _State, part: _State) -> _State:
        bound = state.bound | part.bound
        equal = tuple(
            pair for each in state.filters if (pair := _equal_sides(each, state.bound, part.bound))
        )
        used = tuple(each for each in state.filters if _equal_sides(each, state.bound, part.bound))
        node: Node = part.node
        if not isinstance(state.node, Given) or state.node.slots:
            pairs = state.node.rows * part.node.rows
            rows = pairs * share_of(used, self._types, self._facts)
            node = Join(state.node, part.node, equal, rows=max(rows, 0.01))
        tested = {id(each) for each in (*used, *state.filters_of(part))}
        return _State(
            node,
            bound,
            tuple(each for each in state.waiting if each.slot not in bound),
            tuple(hop for hop in state.hops if not slots_read(hop) <= part.bound),
            tuple(each for each in state.filters if id(each) not in tested),
        )


@frozen
class _State:
    """A pattern half planned."""

    node: Node
    bound: frozenset[Slot]
    waiting: tuple[EntitySlot, ...]
    hops: tuple[Hop, ...]
    filters: tuple[Expr, ...]

    @property
    def cost(self) -> float:
        return _cost(self.node)

    def after(self, node: Node, hop: Hop, binds: set[Slot]) -> _State:
        """The state once a hop has been followed."""
        if isinstance(node, Expand) and hop.edge_slot is not None:
            binds = binds | {hop.edge_slot}
        bound = self.bound | binds
        return _State(
            node,
            bound,
            tuple(each for each in self.waiting if each.slot not in bound),
            tuple(each for each in self.hops if each is not hop),
            self.filters,
        )

    def filters_of(self, part: _State) -> tuple[Expr, ...]:
        """The filters that a part of the pattern has tested by itself."""
        return tuple(
            each for each in self.filters if slots_read(each) and slots_read(each) <= part.bound
        )


def _connected(start: Slot, state: _State) -> frozenset[Slot]:
    """The slots that hops join with this one, without passing through what is bound."""
    waiting = {each.slot for each in state.waiting}
    part, frontier = {start}, {start}
    while frontier:
        near = {
            slot for hop in state.hops if slots_read(hop) & frontier for slot in slots_read(hop)
        }
        frontier = (near & waiting) - part
        part |= frontier
    return frozenset(part)


def _cost(node: Node) -> float:
    """The rows that a plan touches."""
    return sum(each.rows for each in walk(node))


def _slots_of(node: Node) -> tuple[Slot, ...]:
    return node.slots if isinstance(node, Given) else ()


def _equal_sides(
    condition: Expr, left: frozenset[Slot], right: frozenset[Slot]
) -> tuple[Expr, Expr] | None:
    """The two sides of an equality between two parts, the left part's first."""
    match condition:
        case Compare(CompareOp.EQ, PropertyRef() as one, PropertyRef() as other):
            if one.dtype != other.dtype or not (
                one.dtype in _JOINABLE or isinstance(one.dtype, EnumType)
            ):
                return None
            if one.slot in left and other.slot in right:
                return one, other
            if other.slot in left and one.slot in right:
                return other, one
        case _:
            pass
    return None
