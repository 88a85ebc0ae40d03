"""T34: a condition is true or false."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.operands import TypedOperand, describe
from omnigraph.compiler.rules.rule import Rule
from omnigraph.datatypes.types import BOOL

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic

RULE = Rule("T34", "A condition is a Bool.")


def check(operand: TypedOperand) -> Diagnostic | None:
    """Whether the expression can decide anything."""
    if operand.dtype == BOOL:
        return None
    return RULE.broken(
        operand.span, f"this is {describe(operand)}, not a condition", "compare it with something"
    )
