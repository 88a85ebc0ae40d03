"""Order and equality of values, and three-valued logic.

NULL sorts first, NaN equals itself and sorts last, -0.0 equals 0.0, numbers compare by their exact
value whatever their types, text by code point, False before True, lists item by item.
"""

from __future__ import annotations

import datetime as dt
import struct
from typing import TYPE_CHECKING, Any

from omnigraph.datatypes.types import ListType, Scalar, ScalarType, VectorType
from omnigraph.testing.reference.graph import Entity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.datatypes.types import DataType

__all__ = ["conjunction", "disjunction", "equal", "negation", "order", "typed"]

Truth = bool | None


def order(left: Any, right: Any) -> int:
    """Return -1, 0 or 1: the place of ``left`` relative to ``right`` in the total order."""
    if left is None or right is None:
        return (left is not None) - (right is not None)
    if isinstance(left, Entity):
        return order(left.id, right.id)
    if isinstance(left, (list, tuple)):
        return _order_of_lists(left, right)
    if _is_nan(left) or _is_nan(right):
        return _is_nan(left) - _is_nan(right)
    return int(left > right) - int(left < right)


def _order_of_lists(left: Any, right: Any) -> int:
    for one, other in zip(left, right, strict=False):
        found = order(one, other)
        if found:
            return found
    return order(len(left), len(right))


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and str(value) == "nan"


def equal(left: Any, right: Any) -> Truth:
    """SQL's equality: unknown beside NULL."""
    return None if left is None or right is None else order(left, right) == 0


def conjunction(truths: Iterable[Truth]) -> Truth:
    """Kleene's AND."""
    result: Truth = True
    for truth in truths:
        if truth is False:
            return False
        if truth is None:
            result = None
    return result


def disjunction(truths: Iterable[Truth]) -> Truth:
    """Kleene's OR, by De Morgan."""
    return negation(conjunction([negation(truth) for truth in truths]))


def negation(truth: Truth) -> Truth:
    """Kleene's NOT."""
    return {True: False, False: True, None: None}[truth]


def typed(value: Any, dtype: DataType) -> Any:
    """Return the value that a column of the type would hold."""
    if value is None:
        return None
    if isinstance(dtype, ListType):
        return [typed(item, ScalarType(dtype.item)) for item in value]
    if isinstance(dtype, VectorType):
        return [_single(item) for item in value]
    if dtype == ScalarType(Scalar.F32):
        return _single(value)
    if dtype == ScalarType(Scalar.DATETIME) and value.tzinfo is None:
        return value.replace(tzinfo=dt.UTC)
    return value


def _single(number: float) -> float:
    """Round to single precision; beyond its range lies infinity."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")
