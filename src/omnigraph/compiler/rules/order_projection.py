"""T31: rows that were folded are ordered by what they show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

RULE = Rule("T31", "With aggregates or `distinct`, `order` names columns of the result.")


def not_projected(span: Span, *, distinct: bool) -> Diagnostic:
    """The order key is gone once rows are folded."""
    why = "`distinct` folds equal rows" if distinct else "aggregates fold rows into groups"
    return RULE.broken(
        span,
        f"{why}, so `order` can only use what `return` shows",
        "add it to `return`, and order by its alias",
    )
