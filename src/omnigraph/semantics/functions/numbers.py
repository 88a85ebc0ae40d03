"""Arithmetic and rounding: integers exactly, floats as IEEE 754 has them.

An operation without a result is NULL: a division by zero, the root or logarithm of a number that
has none.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import TYPE_CHECKING, Any

from omnigraph.datatypes.types import INTEGER_RANGES, ScalarType
from omnigraph.semantics.functions.limits import fit_integer

if TYPE_CHECKING:
    from omnigraph.datatypes.types import DataType

__all__ = [
    "absolute",
    "add",
    "ceil",
    "div",
    "divide",
    "exp",
    "floor",
    "ln",
    "log10",
    "modulo",
    "multiply",
    "negate",
    "power",
    "rounded",
    "sign",
    "sqrt",
    "subtract",
]

# Enough digits for every digit of a double.
_EXACT = Context(prec=1200)
_DIGITS_MAX = 400


def _is_integer(dtype: DataType) -> bool:
    return isinstance(dtype, ScalarType) and dtype.scalar in INTEGER_RANGES


def add(dtype: DataType, one: Any, other: Any) -> Any:
    if _is_integer(dtype):
        return fit_integer(one + other, dtype)
    return float(one) + float(other)


def subtract(dtype: DataType, one: Any, other: Any) -> Any:
    if _is_integer(dtype):
        return fit_integer(one - other, dtype)
    return float(one) - float(other)


def multiply(dtype: DataType, one: Any, other: Any) -> Any:
    if _is_integer(dtype):
        return fit_integer(one * other, dtype)
    return float(one) * float(other)


def divide(_dtype: DataType, one: Any, other: Any) -> float | None:
    """The quotient as a float."""
    return None if other == 0 else float(one) / float(other)


def div(dtype: DataType, one: int, other: int) -> int | None:
    """The quotient without its fraction."""
    if other == 0:
        return None
    quotient = abs(one) // abs(other)
    return fit_integer(quotient if (one < 0) == (other < 0) else -quotient, dtype)


def modulo(dtype: DataType, one: Any, other: Any) -> Any:
    """The remainder, which has the sign of the dividend."""
    if other == 0:
        return None
    if _is_integer(dtype):
        rest = abs(one) % abs(other)
        return fit_integer(-rest if one < 0 else rest, dtype)
    one, other = float(one), float(other)
    return math.nan if math.isinf(one) else math.fmod(one, other)


def negate(dtype: DataType, value: Any) -> Any:
    return fit_integer(-value, dtype) if _is_integer(dtype) else -float(value)


def absolute(dtype: DataType, value: Any) -> Any:
    return fit_integer(abs(value), dtype) if _is_integer(dtype) else abs(value)


def sign(_dtype: DataType, value: Any) -> int:
    """-1, 0 or 1; 0 for NaN."""
    return int(value > 0) - int(value < 0)


def rounded(dtype: DataType, value: Any, digits: int = 0) -> Any:
    """The nearest number with so many decimals; halves away from zero."""
    digits = max(-_DIGITS_MAX, min(_DIGITS_MAX, digits))
    if isinstance(value, float) and not math.isfinite(value):
        return value
    if _is_integer(dtype) and digits >= 0:
        return value
    unit = Decimal(1).scaleb(-digits)
    exact = Decimal(value)
    if exact.copy_abs() > unit.scaleb(1100):
        # A double this large has no digits there.
        return value
    found = exact.quantize(unit, ROUND_HALF_UP, _EXACT)
    return fit_integer(int(found), dtype) if _is_integer(dtype) else float(found)


def floor(_dtype: DataType, value: Any) -> Any:
    """The greatest whole number that is not above."""
    return float(math.floor(value)) if _is_finite_float(value) else value


def ceil(_dtype: DataType, value: Any) -> Any:
    """The least whole number that is not below."""
    return float(math.ceil(value)) if _is_finite_float(value) else value


def _is_finite_float(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def sqrt(_dtype: DataType, value: Any) -> float | None:
    return None if value < 0 else math.sqrt(value)


def power(_dtype: DataType, base: Any, exponent: Any) -> float | None:
    base, exponent = float(base), float(exponent)
    try:
        return math.pow(base, exponent)
    except OverflowError:
        odd = exponent % 2 == 1
        return -math.inf if base < 0 and odd else math.inf
    except ValueError:
        return None


def ln(_dtype: DataType, value: Any) -> float | None:
    return None if value <= 0 else math.log(value)


def log10(_dtype: DataType, value: Any) -> float | None:
    return None if value <= 0 else math.log10(value)


def exp(_dtype: DataType, value: Any) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf
