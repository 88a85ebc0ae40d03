"""T19: ``search`` and ``fuzzy`` look for text in a String property."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.compiler.operands import TypedOperand, describe, is_integer
from omnigraph.compiler.rules.rule import Rule
from omnigraph.ir.expressions import Const

if TYPE_CHECKING:
    from omnigraph.language.diagnostics import Diagnostic

RULE = Rule("T19", "`search` and `fuzzy` look for a text in a String property, with 1 or 2 edits.")

_EDITS = (1, 2)
_REMEDY = "write `edits=1` or `edits=2`, or leave it out"


def check_edits(edits: TypedOperand) -> Diagnostic | None:
    """More edits than two match almost anything."""
    if not is_integer(edits):
        return RULE.broken(
            edits.span, f"`edits` is a whole number, and this is {describe(edits)}", _REMEDY
        )
    if isinstance(edits.expr, Const) and edits.expr.value not in _EDITS:
        return RULE.broken(edits.span, f"`edits` is 1 or 2, not {edits.expr.value!r}", _REMEDY)
    return None
