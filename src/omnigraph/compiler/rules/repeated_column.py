"""T28: the columns of a result have different names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

RULE = Rule("T28", "The columns of a result have different names.")


def repeated(name: str, span: Span) -> Diagnostic:
    """An earlier column has the name."""
    return RULE.broken(
        span, f"the result has a column `{name}` already", "name this one: `… as other_name`"
    )
