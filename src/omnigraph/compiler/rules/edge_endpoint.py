"""T5: the variables of a traversal have the types that the edge joins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from omnigraph.catalog.model import Catalog, EdgeType, NodeType, TypeId
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.gq.ast import Traversal

RULE = Rule("T5", "The variables of a traversal have the types that the edge joins.")


def mismatch(
    catalog: Catalog,
    traversal: Traversal,
    edge: EdgeType,
    *,
    source: NodeType | None,
    target: NodeType | None,
) -> Diagnostic:
    """Neither direction of the edge fits; a type is None where nothing is known of the variable."""
    first, last = (catalog.types[end].name for end in (edge.source, edge.target))
    signature = _signature(catalog, edge)
    if traversal.source == traversal.target:
        return RULE.broken(
            traversal.target_span,
            f"`${traversal.source}` cannot be both ends of edge {signature}",
            "use two variables",
        )
    ends = (
        (traversal.source, source, traversal.source_span),
        (traversal.target, target, traversal.target_span),
    )
    known = [(name, node, span) for name, node, span in ends if node is not None]
    # A type that the edge does not join is wrong for sure; otherwise the second one is too many.
    joined = (edge.source, edge.target)
    name, node, span = next((end for end in known if end[1].id not in joined), known[-1])
    return RULE.broken(
        span,
        f"`${name}` is a {node.name} and does not fit edge {signature} here",
        f"`{edge.name}` leads from {first} to {last}",
    )


def disagreement(
    catalog: Catalog, name: str, uses: Sequence[tuple[Traversal, EdgeType, Iterable[TypeId]]]
) -> Diagnostic:
    """Each edge fits by itself, but they leave the variable no type in common."""
    last = max((traversal for traversal, _, _ in uses), key=lambda each: each.span.start)
    reasons = sorted({_reason(catalog, edge, kinds) for _, edge, kinds in uses})
    return RULE.broken(
        last.source_span if last.source == name else last.target_span,
        f"`${name}` would be {' and '.join(reasons)}",
        "use two variables, or another edge",
    )


def odd_cycle(catalog: Catalog, traversals: Sequence[Traversal], edge: EdgeType) -> Diagnostic:
    """Types would have to alternate along a cycle of odd length."""
    first, last = sorted(catalog.types[end].name for end in (edge.source, edge.target))
    names = sorted({name for each in traversals for name in (each.source, each.target)} - {"_"})
    return RULE.broken(
        traversals[-1].edge_span,
        f"no types fit: each edge joins a {first} to a {last}, and "
        f"{', '.join(f'`${name}`' for name in names)} form a cycle of odd length",
        "use another variable for one end",
    )


def _reason(catalog: Catalog, edge: EdgeType, kinds: Iterable[TypeId]) -> str:
    names = sorted(catalog.types[kind].name for kind in kinds)
    return f"a {' or a '.join(names)} by {_signature(catalog, edge)}"


def _signature(catalog: Catalog, edge: EdgeType) -> str:
    first, last = (catalog.types[end].name for end in (edge.source, edge.target))
    return f"`{edge.name}: {first} -> {last}`"
