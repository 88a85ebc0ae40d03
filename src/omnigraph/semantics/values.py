"""Canonical form, order and comparison of values, and three-valued logic.

One key orders, compares and groups, so that these cannot disagree: NULL sorts first, NaN equals
itself and sorts last, 0.0 equals -0.0, strings sort by code point, false before true, lists item by
item.
"""

from __future__ import annotations

import ctypes
import datetime as dt
from array import array
from typing import TYPE_CHECKING, Any

from omnigraph.datatypes.types import DataType, ListType, Scalar, ScalarType, VectorType
from omnigraph.ir.expressions import CompareOp

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.ir.expressions import Value

__all__ = [
    "SortKey",
    "all_of",
    "any_of",
    "canonical",
    "compare",
    "negate",
    "sort_key",
]

SortKey = tuple[int, Any]


def canonical(value: Any, dtype: DataType) -> Value:
    """Return the form that is compared: F32 narrowed, datetimes in UTC, lists as tuples."""
    if value is None:
        return None
    match dtype:
        case ListType(item):
            return tuple(canonical(each, ScalarType(item)) for each in value)
        case VectorType():
            return tuple(array("f", value))
        case ScalarType(Scalar.F32):
            return ctypes.c_float(value).value
        case ScalarType(Scalar.DATETIME):
            return _in_utc(value)
        case _:
            return value  # type: ignore[no-any-return]  # every other type has one form


def _in_utc(instant: dt.datetime) -> dt.datetime:
    return instant.astimezone(dt.UTC) if instant.tzinfo else instant.replace(tzinfo=dt.UTC)


def sort_key(value: Value) -> SortKey:
    """Return a hashable key with the order and equality of the language."""
    match value:
        case None:
            return (0, 0)
        case float() if value != value:  # noqa: PLR0124 - only NaN differs from itself
            return (2, 0)
        case tuple():
            return (1, tuple(sort_key(item) for item in value))
        case _:
            return (1, value)


def compare(op: CompareOp, left: Value, right: Value) -> bool | None:
    """Compare as SQL does: NULL on either side gives NULL."""
    if left is None or right is None:
        return None
    first, second = sort_key(left), sort_key(right)
    match op:
        case CompareOp.EQ:
            return first == second
        case CompareOp.NE:
            return first != second
        case CompareOp.LT:
            return first < second
        case CompareOp.LE:
            return first <= second
        case CompareOp.GT:
            return first > second
        case CompareOp.GE:
            return first >= second


def all_of(truths: Iterable[bool | None]) -> bool | None:
    """AND: false if any is false, else NULL if any is NULL."""
    seen = set(truths)
    if False in seen:
        return False
    return None if None in seen else True


def any_of(truths: Iterable[bool | None]) -> bool | None:
    """OR: true if any is true, else NULL if any is NULL."""
    seen = set(truths)
    if True in seen:
        return True
    return None if None in seen else False


def negate(truth: bool | None) -> bool | None:  # noqa: FBT001 - a truth value is its subject
    """NOT: NULL stays NULL."""
    return None if truth is None else not truth
