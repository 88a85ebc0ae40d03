"""T38: a pattern matches something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

RULE = Rule("T38", "`match` binds at least one variable.")


def nothing_bound(span: Span) -> Diagnostic:
    """There are only conditions, and nothing that they could choose from."""
    return RULE.broken(span, "`match` binds no variable", "bind one: `$x: Type`")
