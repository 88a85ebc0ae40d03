"""Infers the node types of the variables of a block, whatever the order of its lines.

Each traversal allows its two ends two pairs of types: those of the edge as declared, and the same
reversed. Candidates are narrowed in rounds, and all traversals of a round see the candidates of the
round before, so that the order of the lines cannot matter. Variables that keep two candidates are
joined only by edges between the same two types. Such a component has two solutions: it takes the
one that reads every traversal as it is written, and is ambiguous where neither does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from omnigraph.catalog.model import NodeType
from omnigraph.compiler.rules import ambiguous_direction, edge_endpoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from omnigraph.catalog.model import EdgeType, TypeId
    from omnigraph.compiler.scope import ScopedVariable
    from omnigraph.compiler.unit import CompilationUnit
    from omnigraph.ir.expressions import Slot
    from omnigraph.language.gq.ast import Traversal

__all__ = ["TraversalStep", "infer_types"]

_Candidates = frozenset["TypeId"]


@dataclass(slots=True)
class TraversalStep:
    """A traversal of a known edge type, with the variables at its ends."""

    traversal: Traversal
    edge: EdgeType
    source: ScopedVariable
    target: ScopedVariable
    # No direction fits, and that was reported.
    mismatched: bool = False

    @property
    def ends(self) -> tuple[ScopedVariable, ScopedVariable]:
        return self.source, self.target

    @property
    def joins_one_type(self) -> bool:
        return self.edge.source == self.edge.target

    @property
    def is_forward(self) -> bool:
        """Whether the first variable has the type at which the edge begins."""
        return self.source.entity is not None and self.source.entity.id == self.edge.source


def infer_types(unit: CompilationUnit, steps: Sequence[TraversalStep]) -> None:
    """Gives every variable its type; one that has none is marked as failed, and reported once."""
    inference = _Inference(unit, steps)
    inference.narrow(steps)
    inference.fail_neighbours()
    for component in inference.undecided():
        inference.decide(component)


class _Inference:
    def __init__(self, unit: CompilationUnit, steps: Sequence[TraversalStep]) -> None:
        self._unit = unit
        self._steps = steps
        self._around: dict[Slot, list[TraversalStep]] = {}
        # An absent variable may still have any type.
        self._candidates: dict[Slot, _Candidates] = {}
        for step in steps:
            for end in _distinct(step.ends):
                self._around.setdefault(end.slot, []).append(step)

    # --- to a fixpoint -------------------------------------------------------------------------

    def narrow(self, steps: Iterable[TraversalStep]) -> None:
        """Narrows candidates, starting at the given steps, until nothing changes."""
        pending = list(steps)
        while pending:
            offered: dict[Slot, tuple[ScopedVariable, _Candidates]] = {}
            mismatched = []
            for step in pending:
                pairs = self._pairs(step)
                if not pairs and not _is_blocked(step):
                    mismatched.append(step)
                for place, end in enumerate(step.ends):
                    if pairs and _is_open(end):
                        options = frozenset(pair[place] for pair in pairs)
                        before = offered.get(end.slot, (end, self._of(end) or options))
                        offered[end.slot] = (end, before[1] & options)
            disagreeing = [end for end, options in offered.values() if not options]
            # Reported before anything changes: messages name the types of the round before.
            self._report(mismatched, disagreeing)
            changed = [end for end, options in offered.values() if self._apply(end, options)]
            for step in mismatched:
                step.mismatched = True
                _fail(step.ends)
            _fail(disagreeing)
            pending = list(self._steps_around(changed))

    def _pairs(self, step: TraversalStep) -> list[tuple[TypeId, TypeId]]:
        """The types that the two ends can have together."""
        edge = step.edge
        if _is_blocked(step) and not step.joins_one_type:
            return []
        pairs = [(edge.source, edge.target)]
        if not step.joins_one_type:
            if step.source is step.target:
                return []
            pairs.append((edge.target, edge.source))
        return [
            pair
            for pair in pairs
            if all(self._allows(end, kind) for end, kind in zip(step.ends, pair, strict=True))
        ]

    def _allows(self, end: ScopedVariable, kind: TypeId) -> bool:
        if end.failed or end.is_edge:
            return True
        candidates = self._of(end)
        return candidates is None or kind in candidates

    def _of(self, end: ScopedVariable) -> _Candidates | None:
        if isinstance(end.entity, NodeType):
            return frozenset({end.entity.id})
        return self._candidates.get(end.slot)

    def _apply(self, end: ScopedVariable, options: _Candidates) -> bool:
        if not options or options == self._candidates.get(end.slot):
            return False
        self._candidates[end.slot] = options
        if len(options) == 1:
            (kind,) = options
            end.entity = self._unit.catalog.node_by_id(kind)
        return True

    def _steps_around(self, changed: Iterable[ScopedVariable]) -> Iterable[TraversalStep]:
        found = {id(step): step for end in changed for step in self._around[end.slot]}
        return [step for step in found.values() if not step.mismatched]

    # --- mistakes ------------------------------------------------------------------------------

    def _report(
        self, mismatched: Iterable[TraversalStep], disagreeing: Iterable[ScopedVariable]
    ) -> None:
        catalog = self._unit.catalog
        for step in mismatched:
            known = {
                name: end.entity if isinstance(end.entity, NodeType) else None
                for name, end in (("source", step.source), ("target", step.target))
            }
            found = edge_endpoint.mismatch(catalog, step.traversal, step.edge, **known)
            self._unit.report(found)
        for end in disagreeing:
            uses = []
            for step in self._around[end.slot]:
                place = step.ends.index(end)
                kinds = {pair[place] for pair in self._pairs(step)}
                uses += [(step.traversal, step.edge, kinds)] if kinds else []
            self._unit.report(edge_endpoint.disagreement(catalog, end.name, uses))

    def fail_neighbours(self) -> None:
        """A variable of unknown type beside a failed one fails with it, in silence."""
        blocked = [step for step in self._steps if _is_blocked(step)]
        while blocked:
            step = blocked.pop()
            for end in step.ends:
                if _is_open(end):
                    end.failed = True
                    blocked += self._around[end.slot]

    # --- what types alone do not decide --------------------------------------------------------

    def undecided(self) -> Iterator[list[TraversalStep]]:
        """The steps between variables of unknown type, those that share a variable together."""
        seen: set[int] = set()
        for start in self._steps:
            if not _is_open(start.source) or id(start) in seen:
                continue
            component, reached = [], [start]
            seen.add(id(start))
            while reached:
                step = reached.pop()
                component.append(step)
                for near in self._steps_around(step.ends):
                    if id(near) not in seen:
                        seen.add(id(near))
                        reached.append(near)
            yield component

    def decide(self, component: list[TraversalStep]) -> None:
        """Reads every traversal as it is written, if that is possible at once."""
        catalog = self._unit.catalog
        types = self._alternate(component)
        if types is None:
            found = edge_endpoint.odd_cycle(catalog, _traversals(component), component[0].edge)
        else:
            forward = {types[step.source.slot] == step.edge.source for step in component}
            if len(forward) == 1:
                for step in component:
                    step.source.entity = catalog.node_by_id(step.edge.source)
                    step.target.entity = catalog.node_by_id(step.edge.target)
                return
            found = ambiguous_direction.ambiguous(
                catalog, _traversals(component), component[0].edge
            )
        self._unit.report(found)
        for step in component:
            _fail(step.ends)

    def _alternate(self, component: list[TraversalStep]) -> dict[Slot, TypeId] | None:
        """One of the two solutions, or None where there is none: a cycle of odd length."""
        edge = component[0].edge
        types = {component[0].source.slot: edge.source}
        reached = [component[0].source]
        while reached:
            end = reached.pop()
            opposite = edge.target if types[end.slot] == edge.source else edge.source
            for step in self._around[end.slot]:
                other = step.target if step.source is end else step.source
                if other.slot not in types:
                    types[other.slot] = opposite
                    reached.append(other)
                elif types[other.slot] != opposite:
                    return None
        return types


def _is_open(end: ScopedVariable) -> bool:
    return end.entity is None and not end.failed


def _is_blocked(step: TraversalStep) -> bool:
    """Whether something is wrong with an end, so that the step decides nothing about the other."""
    return step.mismatched or any(end.failed or end.is_edge for end in step.ends)


def _fail(ends: Iterable[ScopedVariable]) -> None:
    for end in ends:
        end.failed = end.failed or end.entity is None


def _distinct(ends: tuple[ScopedVariable, ScopedVariable]) -> tuple[ScopedVariable, ...]:
    return ends[:1] if ends[0] is ends[1] else ends


def _traversals(component: Iterable[TraversalStep]) -> list[Traversal]:
    return sorted((step.traversal for step in component), key=lambda each: each.span.start)
