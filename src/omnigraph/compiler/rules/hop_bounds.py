"""T15: a traversal takes a bounded number of hops, at least one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.gq.ast import Traversal

RULE = Rule("T15", "A traversal takes at least one hop, and a bounded number of them.")

# Deeper than any diameter that a search from one node is asked for; it keeps the loop bounded.
MAX_HOPS = 64


def check(traversal: Traversal) -> Diagnostic | None:
    """1 <= min <= max <= the limit."""
    low, high = traversal.min_hops, traversal.max_hops
    span = traversal.bounds_span or traversal.span
    if high is None:
        wanted = max(low, 1)
        return RULE.broken(
            span,
            "a traversal without an upper bound may visit the whole graph",
            f"give one: `{{{wanted},{min(wanted + 4, MAX_HOPS)}}}`",
        )
    if low < 1:
        return RULE.broken(
            span, "a traversal takes at least one hop", f"write `{{1,{max(high, 1)}}}`"
        )
    if high < low:
        return RULE.broken(
            span, f"at least {low} but at most {high} hops cannot be", f"write `{{{high},{low}}}`"
        )
    if high > MAX_HOPS:
        return RULE.broken(
            span,
            f"a traversal takes at most {MAX_HOPS} hops, not {high}",
            f"write `{{{min(low, MAX_HOPS)},{MAX_HOPS}}}`, or less",
        )
    return None
