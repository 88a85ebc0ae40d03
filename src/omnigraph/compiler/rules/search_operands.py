"""Checks of the operands of a search function, shared by T19, T20 and T25."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.operands import TypedOperand, describe, is_null
from omnigraph.datatypes.types import STRING

if TYPE_CHECKING:
    from omnigraph.compiler.rules.rule import Rule
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span


def check_text(
    rule: Rule, func: str, target: TypedOperand, query: TypedOperand
) -> Diagnostic | None:
    """Text functions look for a String in a String."""
    if target.dtype != STRING:
        return rule.broken(
            target.span,
            f"`{func}` looks into a String property, and this is {describe(target)}",
            "name a property of type String; compare other values with `=` or `in`",
        )
    if query.dtype != STRING or is_null(query):
        return rule.broken(
            query.span,
            f"`{func}` looks for a String, and this is {describe(query)}",
            "write the text in quotes, or declare the parameter as String",
        )
    return None


def varying(rule: Rule, func: str, span: Span) -> Diagnostic:
    """A query that changes from row to row has no ranking."""
    return rule.broken(
        span,
        f"`{func}` looks for the same thing in every row",
        "pass what to look for as a literal or a parameter",
    )


def no_property(rule: Rule, func: str, span: Span) -> Diagnostic:
    """The first argument is something else."""
    return rule.broken(span, f"`{func}` looks into a property", f"write `{func}($x.property, …)`")


def wrong_arguments(rule: Rule, func: str, span: Span) -> Diagnostic:
    """Too few or too many arguments."""
    return rule.broken(
        span, f"`{func}` takes a property and what to look for", f"write `{func}($x.property, $q)`"
    )
