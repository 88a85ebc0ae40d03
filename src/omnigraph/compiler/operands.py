"""Operands: typed expressions together with the place where they were written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.datatypes.types import INTEGER_RANGES, DataType, Scalar, ScalarType, spell_type
from omnigraph.frozen import frozen
from omnigraph.ir import expressions as ir

if TYPE_CHECKING:
    from omnigraph.language.source import Span

__all__ = ["TypedOperand", "describe", "is_blob", "is_integer", "is_null"]


@frozen
class TypedOperand:
    """An expression of the IR, and the text that it came from."""

    expr: ir.Expr
    span: Span

    @property
    def dtype(self) -> DataType | None:
        """The type of the value; None for a whole entity."""
        return ir.type_of(self.expr)


def describe(operand: TypedOperand) -> str:
    """Describe the operand for an error message."""
    if is_null(operand):
        return "null"
    dtype = operand.dtype
    return "a whole entity" if dtype is None else spell_type(dtype)


def is_null(operand: TypedOperand) -> bool:
    """Whether this is the literal ``null``."""
    return isinstance(operand.expr, ir.Const) and operand.expr.value is None


def is_integer(operand: TypedOperand) -> bool:
    """Whether the value counts something."""
    dtype = operand.dtype
    return isinstance(dtype, ScalarType) and dtype.scalar in INTEGER_RANGES


def is_blob(dtype: DataType | None) -> bool:
    """Whether values of the type are large bytes that queries do not read."""
    return isinstance(dtype, ScalarType) and dtype.scalar is Scalar.BLOB
