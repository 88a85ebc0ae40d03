"""T44: units, patterns and shares are known before the first row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule
from omnigraph.language.lexer import quote_string

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

RULE = Rule("T44", "Units are literals; patterns and shares are literals or parameters.")


def unit(name: str, units: Iterable[str], span: Span) -> Diagnostic:
    """No unit of time, or one that the value does not have."""
    known = ", ".join(quote_string(each) for each in units)
    return RULE.broken(span, f"`{name}` takes a unit of time first", f"write one of {known}")


def varying_pattern(span: Span) -> Diagnostic:
    """A pattern that each row could have another of."""
    return RULE.broken(
        span,
        "a regular expression is the same in every row",
        "write it in quotes, or pass it as a parameter",
    )


def no_time(span: Span) -> Diagnostic:
    """Hours, minutes or seconds beside a date without them."""
    return RULE.broken(
        span,
        "a Date has no time of day, and this duration has one",
        "use whole days, or a DateTime: `cast(… as DateTime)`",
    )


def loose_duration(span: Span) -> Diagnostic:
    """A duration that is neither added nor subtracted."""
    return RULE.broken(
        span,
        "a duration is added to a date, or subtracted from one",
        'write `$x.day + duration("P1M")`',
    )


def share(span: Span) -> Diagnostic:
    """The second argument of a percentile."""
    return RULE.broken(
        span, "the share of `percentile` is a number between 0 and 1", "write 0.5 for the median"
    )
