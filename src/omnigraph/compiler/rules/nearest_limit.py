"""T17: an order by distance has a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

RULE = Rule("T17", "An order by `nearest` has a `limit`.")


def unlimited(span: Span) -> Diagnostic:
    """Everything is some distance away."""
    return RULE.broken(
        span, "an order by `nearest` ranks everything there is", "say how many: `limit 10`"
    )
