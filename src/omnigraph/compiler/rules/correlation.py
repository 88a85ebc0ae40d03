"""T9: a block speaks of the row that it is asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

RULE = Rule("T9", "A block (`not`, `exists`, `count`, …) uses at least one variable from outside.")


def isolated(word: str, span: Span) -> Diagnostic:
    """The block would have the same answer for every row."""
    return RULE.broken(
        span,
        f"this `{word}` block uses no variable from outside, so its answer never changes",
        "connect it: use a variable of the surrounding `match` inside the block",
    )
