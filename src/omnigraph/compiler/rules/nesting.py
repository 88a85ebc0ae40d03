"""T39: expressions nest to a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

RULE = Rule("T39", "Conditions and blocks nest to a limited depth.")


def too_deep(span: Span) -> Diagnostic:
    """Deeper than the compiler follows."""
    return RULE.broken(span, "conditions are nested too deep", "split the query")
