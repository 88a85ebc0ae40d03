"""T50: the parts of a union have like columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

RULE = Rule("T50", "The parts of a union have columns of the same names and types, in order.")


def other_names(expected: str, found: str, span: Span) -> Diagnostic:
    """Columns of other names, or in another order."""
    return RULE.broken(
        span,
        f"the first part has the columns {expected}, and this one {found}",
        "name the columns alike with `as`",
    )


def other_type(name: str, expected: str, found: str, span: Span) -> Diagnostic:
    """A column of another type."""
    return RULE.broken(
        span,
        f"the column `{name}` is {expected} in the first part, and {found} here",
        "convert one of them: `cast(… as String)`",
    )
