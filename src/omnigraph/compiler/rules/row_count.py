"""T33: ``limit`` and ``offset`` are whole numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.operands import TypedOperand, describe, is_integer
from omnigraph.compiler.rules.rule import Rule
from omnigraph.ir.expressions import Const, ParamRef

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic

RULE = Rule("T33", "`limit` and `offset` are whole numbers, or required integer parameters.")


def check(word: str, count: TypedOperand) -> Diagnostic | None:
    """A count is an integer that is not negative, or a parameter that is one."""
    if not is_integer(count):
        return RULE.broken(
            count.span,
            f"`{word}` is a whole number, and this is {describe(count)}",
            "write a number, or an integer parameter",
        )
    match count.expr:
        case Const(value=int(value)) if value < 0:
            return RULE.broken(count.span, f"`{word}` cannot be negative", "count from 0")
        case ParamRef(name=name, nullable=True):
            return RULE.broken(
                count.span,
                f"`{word}` needs a number, and `${name}` may be null",
                "drop the `?` from its type",
            )
        case _:
            return None
