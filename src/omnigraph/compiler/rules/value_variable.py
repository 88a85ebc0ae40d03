"""T48: a variable that holds a value is no node or edge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

RULE = Rule("T48", "A variable that holds a value is not matched as a node or an edge.")


def bound(name: str, span: Span) -> Diagnostic:
    """A column of the stage before, or an item of a list, in a pattern."""
    return RULE.broken(
        span,
        f"`${name}` holds a value, not a node",
        f"compare it: `$x.property = ${name}`, or return the node itself: `return {{ $x }}`",
    )
