"""T45: values that stand for each other have one type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.operands import TypedOperand, describe
from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic

RULE = Rule("T45", "Branches of `case` and arguments of `coalesce` and its like have one type.")


def unlike(word: str, first: TypedOperand, other: TypedOperand) -> Diagnostic:
    """Two values without a common type."""
    return RULE.broken(
        other.span,
        f"`{word}` would be {describe(first)} or {describe(other)}",
        "convert one of them: `cast(… as String)`",
    )


def no_value(word: str, operand: TypedOperand) -> Diagnostic:
    """An entity or a vector."""
    return RULE.broken(
        operand.span,
        f"`{word}` takes single values and lists, and this is {describe(operand)}",
        "name a property",
    )
