"""T21: ``rrf`` fuses two rankings of the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.operands import TypedOperand, describe, is_integer
from omnigraph.compiler.rules.rule import Rule
from omnigraph.ir.expressions import Const

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

RULE = Rule("T21", "`rrf` fuses two rankings of the result rows; an order by it has a `limit`.")

_K = "write `k=60`, or leave it out"


def no_rankings(span: Span) -> Diagnostic:
    """The arguments are something else."""
    return RULE.broken(
        span,
        "`rrf` fuses two rankings, `nearest(…)` or `bm25(…)`",
        "write `rrf(nearest($x.vector, $q), bm25($x.text, $q))`",
    )


def check_k(k: TypedOperand) -> Diagnostic | None:
    """The constant of the formula is a positive whole number."""
    if not is_integer(k):
        return RULE.broken(k.span, f"`k` is a whole number, and this is {describe(k)}", _K)
    if isinstance(k.expr, Const) and isinstance(k.expr.value, int) and k.expr.value < 1:
        return RULE.broken(k.span, f"`k` is at least 1, not {k.expr.value}", _K)
    return None


def unlimited(span: Span) -> Diagnostic:
    """Everything has a rank."""
    return RULE.broken(
        span, "an order by `rrf` ranks everything there is", "say how many: `limit 10`"
    )


def misplaced(span: Span) -> Diagnostic:
    """A rank exists only among the rows of a result."""
    return RULE.broken(
        span,
        "`rrf` ranks the rows of the result, so it cannot decide which rows there are",
        "use it in `return` or `order`; in `match` compare `nearest(…)` or `bm25(…)`",
    )


def grouped(span: Span) -> Diagnostic:
    """Groups have no rank."""
    return RULE.broken(
        span,
        "`rrf` ranks rows, and this query folds its rows into groups",
        "rank in one query and aggregate in another",
    )
