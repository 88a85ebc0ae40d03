"""T14: the only variables of a mutation are its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule
from omnigraph.compiler.rules.suggestion import suggest_variable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

RULE = Rule("T14", "The variables of a mutation are declared parameters.")


def undeclared(name: str, span: Span, params: Iterable[str]) -> Diagnostic:
    """The name is no parameter."""
    return RULE.broken(
        span,
        f"`${name}` is not a parameter of this query",
        suggest_variable(name, params) or f"declare it: `query …(${name}: Type)`",
    )


def no_pattern(name: str, prop: str, span: Span) -> Diagnostic:
    """``$x.p`` in a mutation, where nothing can be bound."""
    return RULE.broken(
        span,
        f"`${name}.{prop}` reads a variable, and a mutation binds none",
        f"write the property alone: `{prop}`",
    )
