"""Traversals: which way an edge is followed, and the types of the variables that it joins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from omnigraph.catalog.model import EdgeType, NodeType
from omnigraph.compiler.rules import edge_endpoint, edge_type, edge_variable, hop_bounds, undirected
from omnigraph.ir.queries import Hop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.compiler.scope import Variable
    from omnigraph.compiler.unit import Unit
    from omnigraph.language.gq.ast import Traversal

__all__ = ["Step", "follow"]


@dataclass(slots=True)
class Step:
    """A traversal with its variables; ``edge_variable`` is None where the edge has no name."""

    traversal: Traversal
    source: Variable
    target: Variable
    edge_variable: Variable | None
    edge: EdgeType | None = None
    hop: Hop | None = None


def follow(unit: Unit, steps: Sequence[Step]) -> list[Hop]:
    """Orients every traversal and types its variables, in whatever order types become known.

    A traversal whose ends are both unknown is read as it is written, but only when nothing else is
    left: another one may say what they are.
    """
    pending = [step for step in steps if _find_edge(unit, step)]
    while pending:
        ready = next((at for at, step in enumerate(pending) if _has_known_end(step)), 0)
        step = pending.pop(ready)
        _orient(unit, step)
    return [step.hop for step in steps if step.hop is not None]


def _find_edge(unit: Unit, step: Step) -> bool:
    traversal = step.traversal
    edge = unit.catalog.edge(traversal.edge_name)
    if edge is None:
        unit.report(edge_type.unknown(unit.catalog, traversal))
        return False
    unit.fails(hop_bounds.check(traversal))
    unit.fails(undirected.check(traversal, edge))
    unit.fails(edge_variable.check_hops(traversal))
    unit.reads(edge)
    step.edge = edge
    if step.edge_variable is not None and not step.edge_variable.failed:
        step.edge_variable.entity = edge
    return True


def _has_known_end(step: Step) -> bool:
    return any(end.failed or end.entity is not None for end in (step.source, step.target))


def _orient(unit: Unit, step: Step) -> None:
    edge = step.edge
    assert edge is not None  # noqa: S101 - narrowing; only steps with an edge are pending
    if not _joins_nodes(unit, step):
        return
    if step.source.failed or step.target.failed:
        _spread_failure(unit, step, edge)
        return
    forward = _fits(step.source, edge.source) and _fits(step.target, edge.target)
    backward = _fits(step.source, edge.target) and _fits(step.target, edge.source)
    if step.source is step.target and edge.source != edge.target:
        forward = backward = False
    if not forward and not backward:
        unit.report(
            edge_endpoint.mismatch(
                unit.catalog,
                step.traversal,
                edge,
                source=_node(step.source),
                target=_node(step.target),
            )
        )
        _fail_unknown(step)
        return
    first, last = (step.source, step.target) if forward else (step.target, step.source)
    first.entity = first.entity or unit.catalog.node_by_id(edge.source)
    last.entity = last.entity or unit.catalog.node_by_id(edge.target)
    step.hop = _hop(step, edge, first, last)


def _hop(step: Step, edge: EdgeType, first: Variable, last: Variable) -> Hop:
    traversal = step.traversal
    return Hop(
        source=first.slot,
        target=last.slot,
        edge_type=edge.id,
        edge_slot=None if step.edge_variable is None else step.edge_variable.slot,
        undirected=traversal.undirected,
        min_hops=traversal.min_hops,
        # An open bound was reported.
        max_hops=traversal.max_hops or traversal.min_hops,
    )


def _joins_nodes(unit: Unit, step: Step) -> bool:
    traversal = step.traversal
    joins = True
    for end, span in (
        (step.source, traversal.source_span),
        (step.target, traversal.target_span),
    ):
        if end.is_edge:
            unit.report(edge_variable.used_as_endpoint(end.name, span))
            joins = False
    if not joins:
        _fail_unknown(step)
    return joins


def _spread_failure(unit: Unit, step: Step, edge: EdgeType) -> None:
    """One end is wrong already; the other is known only where both ends are alike."""
    for end in (step.source, step.target):
        if end.entity is None and not end.failed:
            if edge.source == edge.target:
                end.entity = unit.catalog.node_by_id(edge.source)
            else:
                end.failed = True


def _fail_unknown(step: Step) -> None:
    for end in (step.source, step.target):
        end.failed = end.failed or end.entity is None


def _fits(end: Variable, type_id: str) -> bool:
    return end.entity is None or end.entity.id == type_id


def _node(end: Variable) -> NodeType | None:
    return end.entity if isinstance(end.entity, NodeType) else None
