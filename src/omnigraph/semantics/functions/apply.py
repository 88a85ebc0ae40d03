"""Apply a function to values in their canonical form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.ir.functions import Function
from omnigraph.semantics.functions import casts, dates, lists, numbers, patterns, text
from omnigraph.semantics.values import sort_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from omnigraph.datatypes.types import DataType
    from omnigraph.ir.expressions import Value

__all__ = ["apply_function", "definition", "takes_nulls"]


def _concatenate(dtype: DataType, one: Any, other: Any) -> Any:
    join = text.concatenate if isinstance(one, str) else lists.concatenate
    return join(dtype, one, other)


def _nullif(_dtype: DataType, value: Any, other: Any) -> Any:
    return None if other is not None and sort_key(value) == sort_key(other) else value


def _least(dtype: DataType, *values: Any) -> Any:
    return casts.widened(lists.least(dtype, *values), dtype)


def _greatest(dtype: DataType, *values: Any) -> Any:
    return casts.widened(lists.greatest(dtype, *values), dtype)


_DEFINITIONS: dict[Function, Callable[..., Any]] = {
    Function.ADD: numbers.add,
    Function.SUBTRACT: numbers.subtract,
    Function.MULTIPLY: numbers.multiply,
    Function.DIVIDE: numbers.divide,
    Function.MODULO: numbers.modulo,
    Function.NEGATE: numbers.negate,
    Function.DIV: numbers.div,
    Function.ABS: numbers.absolute,
    Function.SIGN: numbers.sign,
    Function.ROUND: numbers.rounded,
    Function.FLOOR: numbers.floor,
    Function.CEIL: numbers.ceil,
    Function.SQRT: numbers.sqrt,
    Function.POWER: numbers.power,
    Function.LN: numbers.ln,
    Function.LOG10: numbers.log10,
    Function.EXP: numbers.exp,
    Function.CONCATENATE: _concatenate,
    Function.LOWER: text.lower,
    Function.UPPER: text.upper,
    Function.TRIM: text.trim,
    Function.TRIM_START: text.trim_start,
    Function.TRIM_END: text.trim_end,
    Function.SUBSTRING: text.substring,
    Function.LEFT: text.left,
    Function.RIGHT: text.right,
    Function.REPLACE: text.replace,
    Function.SPLIT: text.split,
    Function.JOIN: text.join,
    Function.LENGTH: text.length,
    Function.REGEX_REPLACE: patterns.regex_replace,
    Function.HASH: text.hashed,
    Function.YEAR: dates.year,
    Function.MONTH: dates.month,
    Function.DAY: dates.day,
    Function.HOUR: dates.hour,
    Function.MINUTE: dates.minute,
    Function.SECOND: dates.second,
    Function.WEEKDAY: dates.weekday,
    Function.DAY_OF_YEAR: dates.day_of_year,
    Function.TRUNCATE: dates.truncate,
    Function.DIFFERENCE: dates.difference,
    Function.SHIFT: dates.shift,
    Function.INDEX: lists.index,
    Function.SLICE: lists.sliced,
    Function.SIZE: lists.size,
    Function.LIST_DISTINCT: lists.distinct,
    Function.LIST_SORT: lists.sort,
    Function.REVERSE: lists.reverse,
    Function.RANGE: lists.integers,
    Function.LEAST: _least,
    Function.GREATEST: _greatest,
    Function.NULLIF: _nullif,
    Function.CAST: casts.cast,
    Function.TRY_CAST: casts.try_cast,
}
# Functions that are asked even if an argument is NULL.
_TAKE_NULLS = frozenset({Function.LEAST, Function.GREATEST, Function.NULLIF, Function.SLICE})


def definition(func: Function) -> Callable[..., Any]:
    """The function of a type and values, none of them NULL."""
    return _DEFINITIONS[func]


def takes_nulls(func: Function) -> bool:
    """Whether the function decides about NULLs itself."""
    return func in _TAKE_NULLS


def apply_function(func: Function, dtype: DataType, args: Sequence[Value]) -> Value:
    """The value of a function; NULL if an argument is, for most functions."""
    if func not in _TAKE_NULLS and any(arg is None for arg in args):
        return None
    found: Value = _DEFINITIONS[func](dtype, *args)
    return found
