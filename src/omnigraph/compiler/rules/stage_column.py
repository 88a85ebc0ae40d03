"""T49: the columns of a stage have names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.operands import describe
from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from omnigraph.compiler.operands import TypedOperand
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

RULE = Rule("T49", "A column before `then` is a variable, or has a name that no parameter has.")


def unnamed(span: Span) -> Diagnostic:
    """A column that the next stage could not refer to."""
    return RULE.broken(
        span, "the next stage cannot refer to this column", "name it: `… as name`, then use `$name`"
    )


def parameter(name: str, span: Span) -> Diagnostic:
    """A column with the name of a parameter."""
    return RULE.broken(span, f"`${name}` is a parameter already", "give the column another name")


def no_column(operand: TypedOperand) -> Diagnostic:
    """A score, which ranks rows of its own stage."""
    return RULE.broken(
        operand.span, f"{describe(operand)} cannot be a column of a stage", "return it at the end"
    )
