"""T2: an inline filter names a property of the bound type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule
from omnigraph.compiler.rules.suggestion import suggest

if TYPE_CHECKING:
    from omnigraph.catalog.model import NodeType
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.gq.ast import Assignment

RULE = Rule("T2", "An inline filter names a property of the bound node type.")


def unknown(node: NodeType, inline: Assignment) -> Diagnostic:
    """The filtered property does not exist."""
    return RULE.broken(
        inline.prop_span,
        f"node type `{node.name}` has no property `{inline.prop}`",
        suggest(inline.prop, (*node.by_name, "id")),
    )
