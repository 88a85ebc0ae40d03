"""T37: the items of a list are constants of one type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.operands import TypedOperand, describe, is_null
from omnigraph.compiler.rules.comparison import comparable
from omnigraph.compiler.rules.rule import Rule
from omnigraph.datatypes.types import EnumType, ScalarType

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

RULE = Rule("T37", "The items of a list are single values of one type, and not null.")


def no_constant(span: Span) -> Diagnostic:
    """Report a value that changes from row to row."""
    return RULE.broken(
        span, "this value must be the same in every row", "write a literal, or pass a parameter"
    )


def check_value(item: TypedOperand) -> Diagnostic | None:
    """Null is equal to nothing, so it has no meaning in a list."""
    if not is_null(item):
        return None
    return RULE.broken(item.span, "a list cannot hold null", "leave it out, or test with `is null`")


def no_number(span: Span) -> Diagnostic:
    """A vector is written out in numbers."""
    return RULE.broken(
        span, "a vector is written out in numbers", "pass a whole vector as a parameter"
    )


def no_vector(span: Span, reason: str) -> Diagnostic:
    """A number is missing, infinite or too large."""
    return RULE.broken(
        span, f"this is not a vector: {reason}", "write finite numbers that 32 bits can hold"
    )


def check_item(first: TypedOperand, item: TypedOperand) -> Diagnostic | None:
    """An item is a single value, and can be compared with the first one."""
    if not isinstance(item.dtype, ScalarType | EnumType):
        return RULE.broken(
            item.span,
            f"an item of a list is a single value, not {describe(item)}",
            "pass the whole list as one parameter",
        )
    assert first.dtype is not None  # noqa: S101 - narrowing; the first item was checked first
    if not comparable(first.dtype, item.dtype):
        return RULE.broken(
            item.span,
            f"the list began with {describe(first)}, and this is {describe(item)}",
            "write items of one type",
        )
    return None
