"""The conditions that a scan of a table can answer, whatever the parameters are."""

from __future__ import annotations

from omnigraph.datatypes.types import ListType, Scalar, ScalarType, VectorType
from omnigraph.ir.expressions import (
    And,
    Call,
    Case,
    Coalesce,
    Compare,
    Const,
    Expr,
    InList,
    IsNull,
    MakeList,
    Not,
    Now,
    Or,
    ParamRef,
    PropertyRef,
    StringMatch,
    StringOp,
)
from omnigraph.ir.walk import blocks, slots_read

__all__ = ["can_push", "is_known_to_lance"]

# Types that cannot cross the boundary to Lance in an expression.
_UNKNOWN_TO_LANCE = frozenset({Scalar.U32, Scalar.U64, Scalar.BLOB})


def is_known_to_lance(ref: PropertyRef) -> bool:
    """Whether a condition on the property can be handed to Lance."""
    if isinstance(ref.dtype, ListType | VectorType):
        return False
    return not (isinstance(ref.dtype, ScalarType) and ref.dtype.scalar in _UNKNOWN_TO_LANCE)


def can_push(expr: Expr) -> bool:
    """Whether a condition is one that scans take."""
    match expr:
        case And(operands) | Or(operands):
            return all(can_push(part) for part in operands)
        case Not(operand):
            return can_push(operand)
        case PropertyRef() | IsNull(PropertyRef()):
            ref = expr.operand if isinstance(expr, IsNull) else expr
            return isinstance(ref, PropertyRef) and is_known_to_lance(ref)
        case Compare(_, PropertyRef() as ref, other) | Compare(_, other, PropertyRef() as ref):
            return is_known_to_lance(ref) and _is_constant(other)
        case StringMatch(StringOp.ENDS_WITH | StringOp.MATCHES):
            return False
        case InList(PropertyRef() as ref, other) | StringMatch(_, PropertyRef() as ref, other):
            return is_known_to_lance(ref) and _is_constant(other)
        case _:
            return False


def _is_constant(expr: Expr) -> bool:
    if isinstance(expr, Const | ParamRef | Now):
        return True
    computed = isinstance(expr, MakeList | Call | Case | Coalesce)
    return computed and not slots_read(expr) and next(blocks(expr), None) is None
