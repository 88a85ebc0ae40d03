"""T25: ``nearest`` measures from a Vector property to a vector of its size, or to a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.operands import TypedOperand, describe, is_null
from omnigraph.compiler.rules.rule import Rule
from omnigraph.datatypes.types import STRING, VectorType

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic

RULE = Rule(
    "T25", "`nearest` takes a Vector property and a vector of the same size, or a text to embed."
)


def check(target: TypedOperand, query: TypedOperand) -> Diagnostic | None:
    """Distances are measured between vectors of one space."""
    wanted = target.dtype
    if not isinstance(wanted, VectorType):
        return RULE.broken(
            target.span,
            f"`nearest` looks into a Vector property, and this is {describe(target)}",
            "name a property of type Vector; rank text with `bm25`",
        )
    if isinstance(query.dtype, VectorType) and query.dtype != wanted:
        return RULE.broken(
            query.span,
            f"the property is {describe(target)}, but the query is {describe(query)}",
            f"pass a {describe(target)}, or a text to embed",
        )
    if query.dtype in (wanted, STRING) and not is_null(query):
        return None
    return RULE.broken(
        query.span,
        f"`nearest` looks for a {describe(target)} or a String, and this is {describe(query)}",
        f"declare the parameter as `{describe(target)}`, or pass a text to embed",
    )
