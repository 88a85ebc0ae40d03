"""T36: a mutation tests one entity by its own values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

RULE = Rule(
    "T36", "A mutation uses properties, parameters, literals and `now()`: no patterns, no search."
)


def pattern(word: str, span: Span) -> Diagnostic:
    """A block, or a search, which needs the rest of the graph."""
    return RULE.broken(
        span,
        f"`{word}` cannot be used in a mutation: `where` tests each entity by its own properties",
        "find the ids with a query first, and pass them as a list parameter: `where id in $ids`",
    )


def no_value(span: Span) -> Diagnostic:
    """Something that is not a value is assigned."""
    return RULE.broken(
        span, "this cannot be assigned", "assign a literal, a parameter, a list or `now()`"
    )
