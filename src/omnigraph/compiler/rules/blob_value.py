"""T24: a Blob is written by queries and read by the blob interface."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.rules.rule import Rule

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic
    from omnigraph.language.source import Span

RULE = Rule("T24", "A Blob is not returned, compared, ordered, folded or tested by a query.")


def read(span: Span) -> Diagnostic:
    """A Blob property or parameter stands where a value is read."""
    return RULE.broken(
        span,
        "a Blob cannot be read by a query",
        "return the entity's `id` and fetch the blob with `blob get`",
    )
