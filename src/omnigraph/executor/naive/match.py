"""The rows of a block: every assignment of its slots that satisfies all hops and all filters.

Slots are filled one after the other, each with every entity that could stand there, and a hop or a
filter is tried as soon as its slots are filled. Following a hop from a filled slot only leaves out
candidates that the hop would refuse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from omnigraph.errors import InvariantBroken
from omnigraph.executor.naive.walk import slots_read
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Set

    from omnigraph.executor.budget import Meter
    from omnigraph.executor.naive.hops import Hops
    from omnigraph.executor.naive.predicates import Interpreter
    from omnigraph.executor.naive.tables import StoredEntity, Tables
    from omnigraph.executor.naive.values import Entity, Row
    from omnigraph.ir.expressions import Expr, Slot
    from omnigraph.ir.queries import Block, EntitySlot, Hop

__all__ = ["Matcher"]

_Node = TypeVar("_Node")


@frozen
class _Step:
    """Fill a slot (None: check what the outer blocks have filled), then try what can be tried."""

    slot: EntitySlot | None
    via: Hop | None
    hops: tuple[Hop, ...]
    filters: tuple[Expr, ...]


class Matcher:
    """Finds the rows of blocks in one snapshot."""

    def __init__(self, tables: Tables, hops: Hops, interpreter: Interpreter, meter: Meter) -> None:
        self._tables = tables
        self._hops = hops
        self._interpreter = interpreter
        self._meter = meter
        self._steps: dict[int, tuple[_Step, ...]] = {}

    def rows(self, block: Block, outer: Row) -> Iterator[Row]:
        """All rows of a block that extend a row of the blocks around it, in no particular order."""
        # By identity: the IR outlives the matcher, and a block always has the same slots around it.
        steps = self._steps.get(id(block))
        if steps is None:
            steps = self._steps[id(block)] = _plan_steps(block, frozenset(outer))
        return self._fill(steps, outer)

    def _fill(self, steps: tuple[_Step, ...], row: Row) -> Iterator[Row]:
        if not steps:
            yield row
            return
        for extended in self._extensions(steps[0], row):
            self._meter.tick()
            if self._holds(steps[0], extended):
                yield from self._fill(steps[1:], extended)

    def _extensions(self, step: _Step, row: Row) -> Iterator[Row]:
        if step.slot is None:
            yield row
            return
        for entity in self._candidates(step.slot, step.via, row):
            yield {**row, step.slot.slot: entity}

    def _holds(self, step: _Step, row: Row) -> bool:
        return all(self._hop_holds(hop, row) for hop in step.hops) and all(
            self._interpreter.truth(condition, row) is True for condition in step.filters
        )

    def _hop_holds(self, hop: Hop, row: Row) -> bool:
        source, target = row[hop.source], row[hop.target]
        if hop.edge_slot is not None:
            return self._hops.connects(hop, row[hop.edge_slot], source, target)
        return target.id in self._hops.targets(hop, source)

    def _candidates(self, slot: EntitySlot, via: Hop | None, row: Row) -> Iterable[StoredEntity]:
        entities = self._tables.of(slot.type_id)
        if via is None:
            return entities.entities
        if slot.slot == via.edge_slot:
            return self._edge_candidates(via, row)
        ends = self._open_ends(slot.slot, via, row)
        return [entities.by_id[node_id] for node_id in ends if node_id in entities.by_id]

    def _edge_candidates(self, hop: Hop, row: Row) -> Iterable[StoredEntity]:
        if hop.source in row:
            return self._hops.edges_at(hop, row[hop.source], leaving=True)
        return self._hops.edges_at(hop, row[hop.target], leaving=False)

    def _open_ends(self, slot: Slot, hop: Hop, row: Row) -> Set[str]:
        """Ids that may stand at the end of a hop whose other end, or whose edge, is known."""
        if hop.edge_slot is not None and hop.edge_slot in row:
            return _ends([row[hop.edge_slot]])
        if slot == hop.target:
            return self._hops.targets(hop, row[hop.source])
        return _ends(self._hops.edges_at(hop, row[hop.target], leaving=False))


def _ends(edges: Iterable[Entity]) -> set[str]:
    return {str(edge.value(end)) for edge in edges for end in ("@src", "@dst")}


def _plan_steps(block: Block, outer: frozenset[Slot]) -> tuple[_Step, ...]:
    """Fill slots along hops where possible, otherwise in their order."""
    filled, waiting = set(outer), list(block.slots)
    hops, filters = list(block.hops), list(block.filters)
    steps = [_Step(None, None, _take_ready(hops, filled), _take_ready(filters, filled))]
    while waiting:
        slot = next((each for each in waiting if _way_to(each.slot, block, filled)), waiting[0])
        via = _way_to(slot.slot, block, filled)
        waiting.remove(slot)
        filled.add(slot.slot)
        steps.append(_Step(slot, via, _take_ready(hops, filled), _take_ready(filters, filled)))
    if hops or filters:
        raise InvariantBroken(10, "a hop or a filter reads a slot that no block introduces")
    return tuple(steps)


def _take_ready(waiting: list[_Node], filled: Set[Slot]) -> tuple[_Node, ...]:
    ready = tuple(each for each in waiting if slots_read(each) <= filled)
    waiting[:] = [each for each in waiting if each not in ready]
    return ready


def _way_to(slot: Slot, block: Block, filled: Set[Slot]) -> Hop | None:
    """A hop that leads to a slot from what is filled."""
    return next((hop for hop in block.hops if _leads_to(slot, hop, filled)), None)


def _leads_to(slot: Slot, hop: Hop, filled: Set[Slot]) -> bool:
    if slot == hop.edge_slot:
        return hop.source in filled or hop.target in filled
    if slot not in (hop.source, hop.target):
        return False
    if hop.edge_slot in filled or (slot == hop.target and hop.source in filled):
        return True
    # Searching backwards is not the same relation when loops are reported again, so only single
    # hops are followed from their target.
    return hop.target in filled and (hop.min_hops, hop.max_hops) == (1, 1)
