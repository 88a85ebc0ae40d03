"""Which indexes a scan answers a pushed condition with.

Of several conditions that all have to hold, one with an index is enough; of alternatives every one
needs an index; a negation is what makes its operand false. An order of texts answers
prefixes, and neither their negation nor substrings. This is the behaviour of Lance;
``tests/substrate`` holds it against Lance's own plans.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.ir.expressions import And, Expr, Not, Or, PropertyRef, StringMatch, StringOp
from omnigraph.ir.walk import nodes

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["answered_by"]


def answered_by(
    condition: Expr, has_index: Callable[[str], bool], *, negated: bool = False
) -> tuple[str, ...]:
    """The properties whose indexes answer a condition; none when all rows have to be read."""
    match condition:
        case Not(operand):
            return answered_by(operand, has_index, negated=not negated)
        case And(operands) | Or(operands):
            parts = [answered_by(part, has_index, negated=negated) for part in operands]
            alternatives = isinstance(condition, Or) is not negated
            if alternatives and not all(parts):
                return ()
            return tuple(prop for part in parts for prop in part)
        case StringMatch(op) if negated or op is StringOp.CONTAINS:
            return ()
        case _:
            asked = (part.prop for part in nodes(condition) if isinstance(part, PropertyRef))
            return tuple(prop for prop in asked if has_index(prop))
