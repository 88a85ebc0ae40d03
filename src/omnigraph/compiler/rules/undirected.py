"""T22: only an edge between equals can be followed both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from omnigraph.catalog.model import EdgeType
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.gq.ast import Traversal

RULE = Rule("T22", "An undirected traversal follows an edge whose two endpoint types are the same.")


def check(traversal: Traversal, edge: EdgeType) -> Diagnostic | None:
    """With two types there is only one way that fits."""
    if not traversal.undirected or edge.source == edge.target:
        return None
    return RULE.broken(
        traversal.edge_span,
        f"`{edge.name}` joins two different types, so it can be followed one way only",
        f"write `${traversal.source} {traversal.edge_name} ${traversal.target}`",
    )
