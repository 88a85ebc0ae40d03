"""Traversals: the edge type of each, the types of its ends, and the direction that follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from omnigraph.compiler.rules import edge_type, edge_variable, hop_bounds, undirected
from omnigraph.compiler.type_inference import TraversalStep, infer_types
from omnigraph.ir.queries import Hop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.catalog.model import EdgeType
    from omnigraph.compiler.scope import ScopedVariable
    from omnigraph.compiler.unit import CompilationUnit
    from omnigraph.language.gq.ast import Traversal

__all__ = ["TraversalClause", "lower_traversals"]


@dataclass(slots=True)
class TraversalClause:
    """A traversal with its variables; ``edge_variable`` is None where the edge has no name."""

    traversal: Traversal
    source: ScopedVariable
    target: ScopedVariable
    edge_variable: ScopedVariable | None


def lower_traversals(unit: CompilationUnit, clauses: Sequence[TraversalClause]) -> list[Hop]:
    """Types the variables of all traversals, then directs each by the types of its ends."""
    # Before edges give types to their variables: a variable that is both is neither.
    for clause in clauses:
        _require_nodes(unit, clause)
    found = [(clause, _find_edge(unit, clause)) for clause in clauses]
    steps = [
        (clause, TraversalStep(clause.traversal, edge, clause.source, clause.target))
        for clause, edge in found
        if edge is not None
    ]
    infer_types(unit, [step for _, step in steps])
    return [_hop(unit, clause, step) for clause, step in steps if _is_typed(step)]


def _require_nodes(unit: CompilationUnit, clause: TraversalClause) -> None:
    traversal = clause.traversal
    for end, span in (
        (clause.source, traversal.source_span),
        (clause.target, traversal.target_span),
    ):
        if end.is_edge:
            unit.report(edge_variable.used_as_endpoint(end.name, span))
            # An edge of a block outside has its type, and keeps it for the rest of the query.
            end.failed = end.failed or end.entity is None


def _find_edge(unit: CompilationUnit, clause: TraversalClause) -> EdgeType | None:
    traversal = clause.traversal
    edge = unit.catalog.edge(traversal.edge_name)
    if edge is None:
        unit.report(edge_type.unknown(unit.catalog, traversal))
        return None
    unit.fails(hop_bounds.check(traversal))
    unit.fails(undirected.check(traversal, edge))
    unit.fails(edge_variable.check_hops(traversal))
    unit.reads(edge)
    if clause.edge_variable is not None and not clause.edge_variable.failed:
        clause.edge_variable.entity = edge
    return edge


def _is_typed(step: TraversalStep) -> bool:
    return not step.mismatched and all(
        end.entity is not None and not end.failed and not end.is_edge for end in step.ends
    )


def _hop(unit: CompilationUnit, clause: TraversalClause, step: TraversalStep) -> Hop:
    traversal = step.traversal
    first, last = step.ends if step.is_forward else (step.target, step.source)
    if not step.is_forward:
        unit.reversed_traversals.append(traversal)
    return Hop(
        source=first.slot,
        target=last.slot,
        edge_type=step.edge.id,
        edge_slot=None if clause.edge_variable is None else clause.edge_variable.slot,
        undirected=traversal.undirected,
        min_hops=traversal.min_hops,
        # An open bound was reported.
        max_hops=traversal.max_hops or traversal.min_hops,
        reversed=not step.is_forward,
    )
