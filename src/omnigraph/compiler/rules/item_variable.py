"""T47: the variable of a condition on items is new."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

RULE = Rule("T47", "The variable of `any`, `all` and `none` has a name of its own.")


def taken(name: str, span: Span) -> Diagnostic:
    """A variable or parameter of the query has the name."""
    return RULE.broken(span, f"`${name}` is bound already", "give the item another name")
