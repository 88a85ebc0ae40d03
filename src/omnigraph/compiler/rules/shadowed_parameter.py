"""T27: a variable does not hide a parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

RULE = Rule("T27", "Variables and parameters have different names.")


def shadowed(name: str, span: Span) -> Diagnostic:
    """The pattern binds a name that is a parameter."""
    return RULE.broken(
        span,
        f"`${name}` is a parameter and cannot be bound",
        "choose another name for the variable",
    )
