"""T46: beside an aggregate, a column uses only grouping columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

RULE = Rule("T46", "An expression with an aggregate otherwise uses only columns without one.")


def ungrouped(span: Span) -> Diagnostic:
    """A value that differs between the rows of a group."""
    return RULE.broken(
        span,
        "this column mixes an aggregate with a value that is no column of its own",
        "return that value as a column, too, which groups by it",
    )
