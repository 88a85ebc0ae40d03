"""T41: types decide the direction of every traversal, or all are read as they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.catalog.model import Catalog, EdgeType
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.gq.ast import Traversal

RULE = Rule(
    "T41",
    "The direction of a traversal follows from the types of its ends, or from how it is written.",
)

_SHOWN = 6


def ambiguous(catalog: Catalog, traversals: Sequence[Traversal], edge: EdgeType) -> Diagnostic:
    """Two sets of types fit, and neither reads every traversal as it is written."""
    names = sorted({name for each in traversals for name in (each.source, each.target)} - {"_"})
    first, last = sorted(catalog.types[end].name for end in (edge.source, edge.target))
    shown = ", ".join(f"`${name}`" for name in names[:_SHOWN]) + ", …" * (len(names) > _SHOWN)
    return RULE.broken(
        traversals[0].edge_span,
        f"the types of {shown} can be {first} and {last} in two ways, "
        "and neither reads every edge as it is written",
        f"give one of them its type: `${names[0]}: {first}` or `${names[0]}: {last}`",
    )
