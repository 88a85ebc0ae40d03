"""T4: a traversal names an edge type of the schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule
from omnigraph.compiler.rules.suggestion import suggest

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.gq.ast import Traversal

RULE = Rule("T4", "A traversal names an edge type of the schema.")


def unknown(catalog: Catalog, traversal: Traversal) -> Diagnostic:
    """There is no such edge type."""
    # Traversals spell edges with a small first letter, so that is how one is suggested.
    known = (edge.name[0].lower() + edge.name[1:] for edge in catalog.edges)
    return RULE.broken(
        traversal.edge_span,
        f"the schema has no edge type `{traversal.edge_name}`",
        suggest(traversal.edge_name, known),
    )
