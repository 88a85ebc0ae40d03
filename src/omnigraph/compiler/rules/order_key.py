"""T32: rows are ordered by single values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.operands import TypedOperand, describe
from omnigraph.compiler.rules.rule import Rule
from omnigraph.datatypes.types import ListType, VectorType

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic

RULE = Rule("T32", "An order key is a single value, not an entity, a list or a vector.")


def check(key: TypedOperand) -> Diagnostic | None:
    """Whether the key has an order."""
    dtype = key.dtype
    if dtype is not None and not isinstance(dtype, ListType | VectorType):
        return None
    return RULE.broken(
        key.span, f"rows cannot be ordered by {describe(key)}", "order by one of its properties"
    )
