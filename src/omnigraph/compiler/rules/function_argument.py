"""T43: the operands of functions and operators have types that these take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.operands import TypedOperand, describe
from omnigraph.compiler.rules.rule import Rule
from omnigraph.language.diagnostics import Diagnostic

if TYPE_CHECKING:
    from omnigraph.language.source import Span

__all__ = ["RULE", "Diagnostic", "misfit", "operator", "unlike", "wrong_count"]

RULE = Rule("T43", "Functions and operators have operands of a number and type that they take.")


def misfit(name: str, wanted: str, operand: TypedOperand) -> Diagnostic:
    """An argument of another type."""
    return RULE.broken(
        operand.span,
        f"`{name}` takes {wanted} here, and this is {describe(operand)}",
        "pass another value, or convert it: `cast(… as String)`",
    )


def operator(op: str, left: TypedOperand, right: TypedOperand, span: Span) -> Diagnostic:
    """Operands that an operator does not take."""
    remedy = {
        "||": "`||` joins two texts or two lists: `cast(… as String)` makes a text",
        "+": "`+` adds numbers; `||` joins texts and lists, and dates take a `duration(…)`",
        "-": "`-` subtracts numbers, and durations from dates; for two dates see `difference`",
    }.get(op, f"`{op}` takes two numbers")
    return RULE.broken(span, f"`{op}` does not take {describe(left)} and {describe(right)}", remedy)


def unlike(name: str, first: TypedOperand, other: TypedOperand) -> Diagnostic:
    """Two arguments that must have one type."""
    return RULE.broken(
        other.span,
        f"`{name}` takes values of one type, and these are {describe(first)} and {describe(other)}",
        "convert one of them: `cast(… as DateTime)`",
    )


def wrong_count(name: str, least: int, most: int, given: int, span: Span) -> Diagnostic:
    """Too few or too many arguments."""
    wanted = f"{least}" if least == most else f"{least} to {most}"
    if most >= 1_000:
        wanted = f"at least {least}"
    plural = "argument" if wanted in ("1", "at least 1") else "arguments"
    return RULE.broken(
        span, f"`{name}` takes {wanted} {plural}, and {given} are given", "give as many as it takes"
    )
