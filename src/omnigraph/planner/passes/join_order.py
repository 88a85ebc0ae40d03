"""Patterns become operators: where to start, which way to follow each hop, when to filter.

For each connected part of a pattern, every slot is tried as the start; from there the hop that
leaves the fewest rows is followed next, and the start that touches the fewest rows wins. Hops and
conditions are tested as soon as their slots have values. Parts that conditions link are joined
first; components that share nothing are planned separately and multiplied last.

An inner block starts from the rows around it, or by itself when that touches fewer. Inner blocks
are planned once the order of the block around them is fixed, so each block is ordered twice at most
and planning is polynomial: nesting adds up instead of multiplying. Large patterns are ordered
greedily from few starts.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.datatypes.types import DATE, DATETIME, I64, STRING, EnumType
from omnigraph.errors import InvariantBroken
from omnigraph.frozen import frozen
from omnigraph.ir.expressions import Compare, CompareOp, Exists, PropertyRef, Slot, ValueRef
from omnigraph.ir.queries import Block, EntitySlot
from omnigraph.ir.walk import blocks, slots_bound, slots_read
from omnigraph.planner.build import scores_in
from omnigraph.planner.estimates import fan_out, selectivity
from omnigraph.planner.plan import (
    Apply,
    Bind,
    EdgeEnds,
    Expand,
    Filter,
    Group,
    Join,
    Match,
    Node,
    OptionalRows,
    Scan,
    Scores,
    SemiJoin,
    UnionRows,
    UnwindRows,
    Values,
    inputs,
    output_slots,
    replace_inputs,
    walk,
)
from omnigraph.runtime.cancellation import checkpoint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from omnigraph.ir.expressions import BlockAggregate, Expr, RankFusion, Score
    from omnigraph.ir.queries import Hop, Unwind
    from omnigraph.planner.plan import Plan
    from omnigraph.planner.statistics import PlannerStatistics

__all__ = ["order_joins"]

# Only the most selective starts are tried, and fewer of them the more hops a pattern has.
_STARTS_MAX = 12
_START_HOPS_MAX = 128
# Up to so many hops, a step is judged by the rows after its conditions; beyond, by its fan-out.
_JUDGED_HOPS_MAX = 8
# The estimated number of items of a list.
_LIST_ITEMS = 4.0
# Types whose equality is the equality of their codes.
_JOINABLE = (STRING, I64, DATE, DATETIME)


def order_joins(plan: Plan, facts: PlannerStatistics) -> Plan:
    """Turn every ``Match`` into scans, expansions, filters and joins."""
    return replace(plan, root=_Orderer(plan.types, facts).resolve(plan.root))


class _Orderer:
    def __init__(self, types: Mapping[Slot, str], facts: PlannerStatistics) -> None:
        self._types = types
        self._facts = facts
        # By identity; the expression is kept so that its identity stays its own.
        self._slots_read: dict[int, tuple[Expr | Hop, frozenset[Slot]]] = {}
        self._conditions: dict[int, _Condition] = {}

    def _reads(self, each: Expr | Hop) -> frozenset[Slot]:
        """The slots that a hop or a condition reads, worked out once."""
        known = self._slots_read.get(id(each))
        if known is None:
            known = self._slots_read[id(each)] = (each, slots_read(each))
        return known[1]

    def _condition(self, expr: Expr) -> _Condition:
        """The facts about a condition that every order asks for, worked out once."""
        known = self._conditions.get(id(expr))
        if known is None:
            share = selectivity(expr, self._types, self._facts)
            asked = tuple((each, tuple(sorted(slots_read(each)))) for each in blocks(expr))
            known = self._conditions[id(expr)] = _Condition(expr, share, asked, scores_in((expr,)))
        return known

    def _share(self, conditions: Sequence[Expr]) -> float:
        """The share of rows that pass all conditions, taken as independent."""
        return math.prod(self._condition(each).share for each in conditions)

    def resolve(self, node: Node) -> Node:
        """The plan without ``Match``, estimates filled in from below."""
        if isinstance(node, Match):
            return self._with_inner(self._rows_of(node.block, self.resolve(node.input)))
        if isinstance(node, Apply) and isinstance(node.inner, Match):
            above = self.resolve(node.input)
            inner = self._inner(node.inner.block, node.slots, above.rows)
            return replace(node, input=above, inner=inner, rows=above.rows)
        if isinstance(node, UnionRows):
            parts = tuple(map(self.resolve, node.parts))
            return replace(node, parts=parts, rows=sum(part.rows for part in parts))
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
        """The rows of a block that extend given rows. Its inner blocks are still patterns."""
        bound = frozenset(output_slots(given))
        start = _State(given, bound, block.slots, block.hops, block.filters, block.unwinds)
        state = self._grow(self._settle(start))
        for component in self._components(state):
            if component & state.bound:
                state = self._connect(block, state, component)
                continue
            inside = self._inside(component, state, Values(()), frozenset())
            state = self._settle(self._join(state, self._connect(block, inside, component)))
        for optional in block.optionals:
            state = self._settle(self._optional(state, optional))
        if state.hops or state.filters or state.unwinds:
            raise InvariantBroken(10, "a hop or a filter reads a slot that no block introduces")
        return state.node

    def _optional(self, state: _State, block: Block) -> _State:
        """The state once an optional block has extended the rows."""
        slots = tuple(sorted(slots_read(block)))
        inner = self._inner(block, slots, state.node.rows)
        binds = tuple(sorted(slots_bound(block)))
        rows = max(state.node.rows, inner.rows)
        node = OptionalRows(state.node, inner, slots, binds, rows=rows)
        return replace(state, node=node, bound=state.bound | frozenset(binds))

    def _inner(self, block: Block, slots: tuple[Slot, ...], rows: float) -> Node:
        """The rows of an inner block: from the rows around it, or by itself, whichever is less."""
        seeded = self._rows_of(block, Values(slots, rows))
        nodes = tuple(slot for slot in slots if slot not in {each.slot for each in block.slots})
        if not nodes or not block.hops:
            return self._with_inner(seeded)
        if not all(slot in self._types for slot in nodes):
            # Values start no pattern.
            return self._with_inner(seeded)
        around = tuple(EntitySlot(slot, self._types[slot], "") for slot in nodes)
        free = self._rows_of(replace(block, slots=(*around, *block.slots)), Values(()))
        return self._with_inner(free if _cost(free) < _cost(seeded) else seeded)

    def _with_inner(self, node: Node) -> Node:
        """The plan of a block with its inner blocks planned, too, each for its place."""
        if isinstance(node, Bind | UnionRows):
            # A source is planned already.
            return node
        below = {
            name: self._with_inner(child)
            for name in ("input", "left", "right")
            if (child := getattr(node, name, None)) is not None
        }
        if any(new is not old for new, old in zip(below.values(), inputs(node), strict=False)):
            node = replace_inputs(node, below)
        if isinstance(node, SemiJoin | Apply) and isinstance(node.inner, Match):
            inner = self._inner(node.inner.block, node.slots, node.input.rows)
            return replace(node, inner=inner)
        return node

    def _components(self, state: _State) -> list[frozenset[Slot]]:
        """The slots without values, apart where neither a hop nor a condition links them; those
        that are linked with bound slots come first."""
        waiting = [each.slot for each in state.waiting]
        links = [self._reads(each) for each in (*state.hops, *state.filters)]
        links += [slots_read(each.items) | {each.item.slot} for each in state.unwinds]
        found: list[frozenset[Slot]] = []
        # All bound slots are one component, however they are linked.
        seen: set[Slot] = set()
        for start in (None, *waiting):
            if start in seen:
                continue
            component = _linked(state.bound if start is None else frozenset({start}), links)
            seen |= component
            if component & set(waiting):
                found.append(component)
        return found

    def _connect(self, block: Block, state: _State, component: frozenset[Slot]) -> _State:
        """Join the parts of a component, those first that a condition links with what is bound."""
        while waiting := [each for each in state.waiting if each.slot in component]:
            part = self._best_part(block, state, self._next(waiting, state))
            state = self._settle(self._join(state, part))
        return state

    def _next(self, waiting: Sequence[EntitySlot], state: _State) -> EntitySlot:
        """A slot of the part to join next: an equality makes fewer pairs than any other link."""
        near = [each for each in state.filters if self._reads(each) & state.bound]
        near.sort(key=lambda each: not (isinstance(each, Compare) and each.op is CompareOp.EQ))
        linked = (
            slot for condition in near for slot in waiting if slot.slot in self._reads(condition)
        )
        return next(linked, waiting[0])

    def _best_part(self, block: Block, state: _State, first: EntitySlot) -> _State:
        """A part of the pattern that is joined with nothing yet, from its best start."""
        part = self._connected(first.slot, state)
        starts = [each for each in state.waiting if each.slot in part]
        starts.sort(key=lambda each: self._scan(each, block.filters).rows)
        hops = sum(self._reads(hop) <= part for hop in state.hops)
        tried = starts[: max(1, min(_STARTS_MAX, _START_HOPS_MAX // max(hops, 1)))]
        return min((self._part_from(each, part, state) for each in tried), key=lambda at: at.cost)

    def _part_from(self, start: EntitySlot, part: frozenset[Slot], state: _State) -> _State:
        inside = self._inside(part, state, self._scan(start, ()), frozenset({start.slot}))
        return self._grow(self._settle(inside))

    def _inside(
        self, slots: frozenset[Slot], state: _State, node: Node, bound: frozenset[Slot]
    ) -> _State:
        """The pattern of some slots alone."""
        return _State(
            node,
            bound,
            tuple(each for each in state.waiting if each.slot in slots - bound),
            tuple(hop for hop in state.hops if self._reads(hop) <= slots),
            self._within(state.filters, slots),
        )

    def _within(self, filters: Sequence[Expr], slots: frozenset[Slot]) -> tuple[Expr, ...]:
        """The filters that some slots can answer; one that reads no slot belongs to no part."""
        return tuple(each for each in filters if self._reads(each) and self._reads(each) <= slots)

    def _connected(self, start: Slot, state: _State) -> frozenset[Slot]:
        """The slots that hops join with this one, without passing through what is bound."""
        waiting = frozenset(each.slot for each in state.waiting)
        return _linked(frozenset({start}), [self._reads(hop) & waiting for hop in state.hops])

    # --- steps ---

    def _grow(self, state: _State) -> _State:
        """Follow hops for as long as one leads on from what is bound."""
        while True:
            judged = len(state.hops) <= _JUDGED_HOPS_MAX
            steps = [step for hop in state.hops for step in self._steps(hop, state, judged=judged)]
            if not steps:
                return state
            best = min(steps, key=lambda step: step.node.rows)
            state = best if judged else self._settle(best)

    def _steps(self, hop: Hop, state: _State, *, judged: bool) -> list[_State]:
        """The states after following a hop; none when no end of it is bound.
        ``judged``: with the conditions that can be tested then."""
        checkpoint()
        bound = state.bound
        if hop.edge_slot is not None and hop.edge_slot in bound:
            return [self._follow_edge(hop, state)]
        ends = [
            (start, end)
            for start, end in ((hop.source, hop.target), (hop.target, hop.source))
            if start in bound and end not in bound
        ]
        steps = [self._follow(hop, state, start, end) for start, end in ends]
        return [self._settle(step) for step in steps] if judged else steps

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
        for unwind in state.unwinds:
            if slots_read(unwind.items) <= state.bound:
                return self._settle(_unwound(state, unwind))
        ready = tuple(each for each in state.filters if self._reads(each) <= state.bound)
        if not ready:
            return state
        rest = tuple(each for each in state.filters if not self._reads(each) <= state.bound)
        node = self._filtered(state.node, ready)
        return _State(node, state.bound, state.waiting, state.hops, rest, state.unwinds)

    def _filtered(self, node: Node, ready: tuple[Expr, ...]) -> Node:
        """Plain conditions first: blocks are asked for the rows that are left."""
        plain = tuple(each for each in ready if self._condition(each).is_plain)
        if plain:
            node = Filter(node, plain, rows=max(node.rows * self._share(plain), 0.01))
        tested = {id(each) for each in plain}
        for condition in ready:
            if id(condition) not in tested:
                node = self._asked(node, condition)
        return node

    def _asked(self, node: Node, condition: Expr) -> Node:
        """Rows asked about inner blocks, which stay patterns until this block is ordered. Until
        then a block counts as one row for each row that asks."""
        known = self._condition(condition)
        rows = max(node.rows * known.share, 0.01)
        if isinstance(condition, Exists):
            slots = tuple(sorted(self._reads(condition)))
            inner = Match(Values(slots, node.rows), condition.block, rows=node.rows)
            return SemiJoin(node, inner, slots, condition.negated, rows=rows)
        for asks, slots in known.asked:
            inner = Match(Values(slots, node.rows), asks.block, rows=node.rows)
            node = Apply(node, asks, inner, slots, rows=node.rows)
        node = Scores(node, known.scores, rows=node.rows) if known.scores else node
        return Filter(node, (condition,), rows=rows)

    # --- parts that share nothing ---

    def _scan(self, slot: EntitySlot, filters: Sequence[Expr]) -> Scan:
        checkpoint()
        alone = [each for each in filters if self._reads(each) == {slot.slot}]
        return Scan(slot, rows=max(self._facts.count(slot.type_id) * self._share(alone), 0.01))

    def _join(self, state: _State, part: _State) -> _State:
        bound = state.bound | part.bound
        sides = [(each, _equal_sides(each, state.bound, part.bound)) for each in state.filters]
        equal = tuple(pair for _, pair in sides if pair)
        used = tuple(each for each, pair in sides if pair)
        node: Node = part.node
        if not isinstance(state.node, Values) or state.node.slots:
            pairs = state.node.rows * part.node.rows
            node = Join(state.node, part.node, equal, rows=max(pairs * self._share(used), 0.01))
        tested = {id(each) for each in (*used, *self._within(state.filters, part.bound))}
        return _State(
            node,
            bound,
            tuple(each for each in state.waiting if each.slot not in bound),
            tuple(hop for hop in state.hops if not self._reads(hop) <= part.bound),
            tuple(each for each in state.filters if id(each) not in tested),
            state.unwinds,
        )


@frozen
class _Condition:
    """A condition with its estimated share of rows, the blocks that it asks with the slots that
    they read, and the scores that it compares."""

    expr: Expr
    share: float
    asked: tuple[tuple[Exists | BlockAggregate, tuple[Slot, ...]], ...]
    scores: tuple[Score | RankFusion, ...]

    @property
    def is_plain(self) -> bool:
        return not self.asked and not self.scores


@frozen
class _State:
    """A pattern half planned."""

    node: Node
    bound: frozenset[Slot]
    waiting: tuple[EntitySlot, ...]
    hops: tuple[Hop, ...]
    filters: tuple[Expr, ...]
    unwinds: tuple[Unwind, ...] = ()

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
            self.unwinds,
        )


def _unwound(state: _State, unwind: Unwind) -> _State:
    """The state once a list has become rows."""
    node = UnwindRows(state.node, unwind.item, unwind.items, rows=state.node.rows * _LIST_ITEMS)
    return replace(
        state,
        node=node,
        bound=state.bound | {unwind.item.slot},
        unwinds=tuple(each for each in state.unwinds if each is not unwind),
    )


def _linked(start: frozenset[Slot], links: Sequence[frozenset[Slot]]) -> frozenset[Slot]:
    """The slots that links join with some, directly or through others."""
    found, rest = start, list(links)
    while True:
        near = [link for link in rest if link & found]
        if not near:
            return found
        rest = [link for link in rest if not link & found]
        found = found.union(*near)


def _cost(node: Node) -> float:
    """The rows that a plan touches."""
    return sum(each.rows for each in walk(node))


def _equal_sides(
    condition: Expr, left: frozenset[Slot], right: frozenset[Slot]
) -> tuple[Expr, Expr] | None:
    """The two sides of an equality between two parts, the left part's first."""
    match condition:
        case Compare(
            CompareOp.EQ, PropertyRef() | ValueRef() as one, PropertyRef() | ValueRef() as other
        ):
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
