"""Kernels of functions over numpy and Arrow.

A kernel gives None where it cannot be exact: where an integer may leave its type, for one. The
function is then applied value by value, which finds the value that does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.datatypes.arrow import arrow_type
from omnigraph.datatypes.types import INTEGER_RANGES, DataType, ScalarType, is_numeric
from omnigraph.ir.functions import Function
from omnigraph.semantics.columns.comparison import ColumnOperand, ConstantOperand

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Operand = ColumnOperand | ConstantOperand

__all__ = ["kernel_of"]

_I64_MAX = 2**63 - 1


def kernel_of(func: Function) -> Callable[..., pa.Array | None] | None:
    """The kernel of a function, if it has one: of a function, a type, operands and a count."""
    return _KERNELS.get(func)


# --- arithmetic --------------------------------------------------------------------------------


def _arithmetic(
    func: Function, dtype: DataType, operands: Sequence[Operand], count: int
) -> pa.Array | None:
    if not all(is_numeric(each.dtype) for each in operands):
        return None
    nulls = _nulls(operands, count)
    if nulls is True:
        return pa.nulls(count, arrow_type(dtype))
    numbers = [_numbers(each) for each in operands]
    if isinstance(dtype, ScalarType) and dtype.scalar in INTEGER_RANGES:
        return _integers(func, dtype, numbers, nulls, count)
    floats = [np.asarray(each, np.float64) for each in numbers]
    with np.errstate(all="ignore"):
        if func in (Function.DIVIDE, Function.MODULO):
            empty = np.broadcast_to(floats[1] == 0, count)
            nulls = empty if nulls is None else nulls | empty
        found = np.broadcast_to(_OPERATIONS[func](*floats), count)
    return pa.array(found, mask=nulls)


def _integers(
    func: Function, dtype: ScalarType, numbers: Sequence[Any], nulls: Any, count: int
) -> pa.Array | None:
    bounds = [_bounds(each) for each in numbers]
    if any(low < -_I64_MAX or high > _I64_MAX for low, high in bounds):
        return None
    low, high = _result_bounds(func, bounds)
    least, most = INTEGER_RANGES[dtype.scalar]
    if low < max(least, -_I64_MAX) or high > min(most, _I64_MAX):
        return None
    wide = [np.asarray(each, np.int64) for each in numbers]
    if func is Function.MODULO:
        empty = np.broadcast_to(wide[1] == 0, count)
        nulls = empty if nulls is None else nulls | empty
        wide[1] = np.where(wide[1] == 0, 1, wide[1])
    found = np.broadcast_to(_OPERATIONS[func](*wide), count)
    return pa.array(found, mask=nulls).cast(arrow_type(dtype))


def _bounds(numbers: Any) -> tuple[int, int]:
    if not isinstance(numbers, np.ndarray):
        return int(numbers), int(numbers)
    return (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, 0)


def _result_bounds(func: Function, bounds: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Bounds of the result, by those of the operands."""
    (a, b), (c, d) = bounds[0], bounds[-1]
    match func:
        case Function.ADD:
            return a + c, b + d
        case Function.SUBTRACT:
            return a - d, b - c
        case Function.MULTIPLY:
            corners = (a * c, a * d, b * c, b * d)
            return min(corners), max(corners)
        case _:
            largest = max(abs(a), abs(b))
            # An unsigned operand leaves no sign to the rest.
            return (-largest if a < 0 else 0), largest


_OPERATIONS: dict[Function, Callable[..., Any]] = {
    Function.ADD: np.add,
    Function.SUBTRACT: np.subtract,
    Function.MULTIPLY: np.multiply,
    Function.DIVIDE: np.divide,
    Function.MODULO: np.fmod,
}


def _numbers(operand: Operand) -> Any:
    return operand.value if isinstance(operand, ConstantOperand) else operand.vector.numbers()


def _nulls(operands: Sequence[Operand], count: int) -> Any:
    """Rows with a NULL operand: a mask, None for none, True for all."""
    found: Any = None
    for each in operands:
        if isinstance(each, ConstantOperand):
            if each.value is None:
                return True
            continue
        nulls = each.vector.nulls()
        if nulls is not None:
            found = nulls if found is None else found | nulls
    return found if count else None


# --- Arrow -------------------------------------------------------------------------------------


def _component(
    func: Function, dtype: DataType, operands: Sequence[Operand], _count: int
) -> pa.Array | None:
    """A part of a date, or the length of a text."""
    (operand,) = operands
    if isinstance(operand, ConstantOperand):
        return None
    return _PARTS[func](operand.vector.arrow()).cast(arrow_type(dtype))


def _weekday(dates: pa.Array) -> pa.Array:
    return pc.day_of_week(dates, count_from_zero=False, week_start=1)


_PARTS: dict[Function, Callable[[pa.Array], pa.Array]] = {
    Function.YEAR: pc.year,
    Function.MONTH: pc.month,
    Function.DAY: pc.day,
    Function.HOUR: pc.hour,
    Function.MINUTE: pc.minute,
    Function.SECOND: pc.second,
    Function.WEEKDAY: _weekday,
    Function.DAY_OF_YEAR: pc.day_of_year,
    Function.LENGTH: pc.utf8_length,
    Function.SIZE: pc.list_value_length,
}

_KERNELS: dict[Function, Callable[..., pa.Array | None]] = {
    **dict.fromkeys(_OPERATIONS, _arithmetic),
    **dict.fromkeys(_PARTS, _component),
}
