"""Comparisons of many values, as ``semantics.values.compare`` defines them for two.

Numbers are compared exactly, whatever their types: an integer is never rounded to meet a float.
Values without an exact form in numpy or Arrow are compared one by one.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.datatypes.types import INTEGER_RANGES, DataType, Scalar, ScalarType
from omnigraph.frozen import frozen
from omnigraph.ir.expressions import CompareOp
from omnigraph.runtime.clock import datetime_to_micros
from omnigraph.semantics.columns.codes import order_of
from omnigraph.semantics.columns.truth import (
    Truth,
    constant,
    decided,
    from_arrow,
    from_values,
    masked,
)
from omnigraph.semantics.domain import MIRRORED, fit_integer
from omnigraph.semantics.values import compare as compare_values

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from omnigraph.ir.expressions import Value
    from omnigraph.semantics.columns.column import Vector

__all__ = ["ColumnOperand", "ConstantOperand", "among", "compare"]

_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_EXACT_IN_FLOAT = 2**53


@frozen
class ConstantOperand:
    """One value for all rows, in its canonical form."""

    value: Value
    dtype: DataType


@frozen
class ColumnOperand:
    """A value for each row, and its type."""

    vector: Vector
    dtype: DataType


def compare(
    op: CompareOp,
    left: ColumnOperand | ConstantOperand,
    right: ColumnOperand | ConstantOperand,
    count: int,
) -> Truth:
    """The truth of a comparison for each row."""
    if isinstance(right, ConstantOperand):
        if isinstance(left, ConstantOperand):
            return constant(compare_values(op, left.value, right.value), count)
        return _with_constant(op, left, right)
    if isinstance(left, ConstantOperand):
        return _with_constant(MIRRORED[op], right, left)
    return _two_vectors(op, left, right)


def among(item: ColumnOperand, options: Sequence[Value], option_type: DataType) -> Truth:
    """SQL's IN: a NULL among the options makes a miss unknown."""
    vector, present = item.vector, [option for option in options if option is not None]
    if vector.column.is_text and present:
        found = pc.is_in(vector.arrow(), value_set=pa.array(present, pa.string()))
        hits = np.asarray(found.to_numpy(zero_copy_only=False))
    elif isinstance(item.dtype, ScalarType) and item.dtype.scalar in INTEGER_RANGES:
        hits = np.isin(vector.numbers(), _integers(present, item.dtype.scalar))
    else:
        hits = np.zeros(len(vector), np.bool_)
        for option in present:
            hits |= compare(
                CompareOp.EQ, item, ConstantOperand(option, option_type), len(vector)
            ).yes
    found = masked(hits, vector.nulls())
    return Truth(found.yes, ~found.yes) if len(present) < len(options) else found


def _integers(options: Sequence[Value], scalar: Scalar) -> list[int]:
    """The options that are integers of the type."""
    fitted = [
        fit_integer(CompareOp.EQ, option, scalar)
        for option in options
        if isinstance(option, int | float)
    ]
    return [option for option in fitted if not isinstance(option, bool)]


# --- one value for all rows ---


def _with_constant(op: CompareOp, left: ColumnOperand, right: ConstantOperand) -> Truth:
    vector, value = left.vector, right.value
    if value is None:
        return constant(None, len(vector))
    column = vector.column
    if column.is_text and isinstance(value, str):
        return _text_with_constant(op, vector, value)
    if column.is_number_like:
        number = _as_number(value)
        if isinstance(left.dtype, ScalarType) and left.dtype.scalar in INTEGER_RANGES:
            return _integers_with_constant(op, vector, number, left.dtype.scalar)
        if not isinstance(number, int) or abs(number) <= _EXACT_IN_FLOAT:
            return _numbers_with_constant(op, vector, number)
        if column.numbers.dtype.kind != "f":
            return _numbers_with_constant(op, vector, number)
    return _one_by_one(op, vector.values(left.dtype), [value] * len(vector))


def _text_with_constant(op: CompareOp, vector: Vector, text: str) -> Truth:
    if op in (CompareOp.EQ, CompareOp.NE) and vector.worth_codes():
        codes = vector.column.codes
        mine = codes.codes if vector.rows is None else codes.codes[vector.rows]
        equal = mine == codes.find(text)
        return masked(equal if op is CompareOp.EQ else ~equal, vector.nulls())
    return from_arrow(_ARROW[op](vector.arrow(), text))


def _integers_with_constant(op: CompareOp, vector: Vector, value: float, scalar: Scalar) -> Truth:
    fitted = fit_integer(op, value, scalar)
    if isinstance(fitted, bool):
        return decided(fitted, vector.nulls(), len(vector))
    return masked(_NUMPY[op](vector.numbers(), fitted), vector.nulls())


def _numbers_with_constant(op: CompareOp, vector: Vector, value: float) -> Truth:
    numbers = vector.numbers()
    if numbers.dtype.kind != "f":
        return masked(_NUMPY[op](numbers, value), vector.nulls())
    if value != value:  # noqa: PLR0124 - only NaN differs from itself
        codes, other = order_of(numbers), order_of(np.array([value]))
        return masked(_NUMPY[op](codes, other), vector.nulls())
    yes = _NUMPY[op](numbers.astype(np.float64), float(value))
    if op in (CompareOp.GT, CompareOp.GE):
        yes |= np.isnan(numbers)
    return masked(yes, vector.nulls())


def _as_number(value: Value) -> float:
    match value:
        case dt.datetime():
            return datetime_to_micros(value)
        case dt.date():
            return value.toordinal() - _EPOCH_DAY
        case bool() | int() | float():
            return value
        case _:
            raise TypeError(f"{value!r} is no number, day or instant")


# --- a value for each row ---


def _two_vectors(op: CompareOp, left: ColumnOperand, right: ColumnOperand) -> Truth:
    one, other = left.vector, right.vector
    if one.column.is_text and other.column.is_text:
        return from_arrow(_ARROW[op](one.arrow(), other.arrow()))
    if one.column.is_number_like and other.column.is_number_like:
        pair = _alike(one.numbers(), other.numbers())
        if pair is not None:
            return masked(_NUMPY[op](*pair), _either(one, other))
    return _one_by_one(op, one.values(left.dtype), other.values(right.dtype))


def _alike(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Both as numbers that numpy compares exactly; None when there are none."""
    kinds = {one.dtype.kind, other.dtype.kind}
    if "f" in kinds:
        if not all(_fits_float(numbers) for numbers in (one, other)):
            return None
        return order_of(one.astype(np.float64)), order_of(other.astype(np.float64))
    if kinds == {"i", "u"} and np.uint64 in (one.dtype, other.dtype):
        return None
    return one, other


def _fits_float(numbers: np.ndarray) -> bool:
    if numbers.dtype.kind == "f" or not len(numbers):
        return True
    return bool(numbers.min() >= -_EXACT_IN_FLOAT and numbers.max() <= _EXACT_IN_FLOAT)


def _either(one: Vector, other: Vector) -> Any:
    first, second = one.nulls(), other.nulls()
    if first is None or second is None:
        return second if first is None else first
    return first | second


def _one_by_one(op: CompareOp, left: Sequence[Any], right: Sequence[Any]) -> Truth:
    return from_values(
        compare_values(op, one, other) for one, other in zip(left, right, strict=True)
    )


_NUMPY: dict[CompareOp, Callable[..., Any]] = {
    CompareOp.EQ: np.equal,
    CompareOp.NE: np.not_equal,
    CompareOp.LT: np.less,
    CompareOp.LE: np.less_equal,
    CompareOp.GT: np.greater,
    CompareOp.GE: np.greater_equal,
}

_ARROW: dict[CompareOp, Callable[..., Any]] = {
    CompareOp.EQ: pc.equal,
    CompareOp.NE: pc.not_equal,
    CompareOp.LT: pc.less,
    CompareOp.LE: pc.less_equal,
    CompareOp.GT: pc.greater,
    CompareOp.GE: pc.greater_equal,
}
