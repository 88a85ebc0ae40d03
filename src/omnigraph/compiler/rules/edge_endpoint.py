"""T5: the variables of a traversal have the types that the edge joins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog, EdgeType, NodeType
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
    signature = f"`{edge.name}: {first} -> {last}`"
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
