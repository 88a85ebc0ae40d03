"""T30: an aggregate is a column, not a part of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

RULE = Rule("T30", "An aggregate is a whole column of `return`: not nested, not in `match`.")


def misplaced(func: str, span: Span) -> Diagnostic:
    """The aggregate stands inside another expression."""
    return RULE.broken(
        span,
        f"`{func}(…)` folds the result and cannot be a part of another expression",
        f"return it as a column of its own; in `match` fold a pattern: `{func} {{ … }}`",
    )
