"""T23: a bound edge is one edge with a name of its own, and no node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.gq.ast import Binding, Traversal
    from omnigraph.language.source import Span

RULE = Rule("T23", "An edge variable names one edge, is new, and is not used as a node.")


def check_hops(traversal: Traversal) -> Diagnostic | None:
    """A path of several edges is not one edge."""
    if traversal.edge_variable is None or (traversal.min_hops, traversal.max_hops) == (1, 1):
        return None
    return RULE.broken(
        traversal.edge_variable_span or traversal.span,
        f"`${traversal.edge_variable}` would name a path of several edges",
        "drop the variable or the bounds",
    )


def reused(name: str, span: Span) -> Diagnostic:
    """The name means something else already."""
    return RULE.broken(
        span, f"`${name}` is already bound; an edge needs a name of its own", "choose another name"
    )


def used_as_endpoint(name: str, span: Span) -> Diagnostic:
    """A traversal joins nodes."""
    return RULE.broken(
        span,
        f"`${name}` is an edge and cannot be the end of a traversal",
        "traverse from one of its nodes",
    )


def bound_as_node(binding: Binding) -> Diagnostic:
    """The variable of an edge gets a node type."""
    return RULE.broken(
        binding.variable_span,
        f"`${binding.variable}` is an edge and cannot be a {binding.type_name}",
        "choose another name",
    )


def searched(func: str, span: Span) -> Diagnostic:
    """Search runs over nodes."""
    return RULE.broken(
        span,
        f"`{func}` searches properties of nodes, and this is a property of an edge",
        "compare it with `contains` or `starts_with`",
    )
