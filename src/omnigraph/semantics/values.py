"""Values: their one canonical form, their order, and the logic of three truths.

One key orders, compares and groups, so that these can never disagree: NULL comes before everything,
NaN equals itself and comes after everything, 0.0 and -0.0 are equal, strings go by code points,
false before true, lists by their items.
"""

from __future__ import annotations

import ctypes
import datetime as dt
from abc import ABC, abstractmethod
from array import array
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from omnigraph.datatypes.types import DataType, ListType, Scalar, ScalarType, VectorType
from omnigraph.ir.expressions import CompareOp, Slot

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph.ir.expressions import Value

__all__ = [
    "Entity",
    "Row",
    "SortKey",
    "all_of",
    "any_of",
    "canonical",
    "compare",
    "negate",
    "sort_key",
]

SortKey = tuple[int, Any]


class Entity(ABC):
    """A node or an edge: properties by id, ``@id``, ``@src`` and ``@dst`` among them."""

    __slots__ = ()

    @abstractmethod
    def value(self, prop: str) -> Value:
        """One property."""

    @property
    def id(self) -> str:
        return str(self.value("@id"))


# An assignment of the slots of a block and of the blocks around it.
Row = Mapping[Slot, Entity]


def canonical(value: Any, dtype: DataType) -> Value:
    """The form that is compared: F32 narrowed, instants in UTC, lists as tuples."""
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


def sort_key(value: Value | Entity) -> SortKey:
    """A hashable key with the order and equality of the language. Entities go by their id."""
    match value:
        case None:
            return (0, 0)
        case float() if value != value:  # noqa: PLR0124 - only NaN differs from itself
            return (2, 0)
        case tuple():
            return (1, tuple(sort_key(item) for item in value))
        case Entity():
            return (1, value.id)
        case _:
            return (1, value)


def compare(op: CompareOp, left: Value | Entity, right: Value | Entity) -> bool | None:
    """SQL's comparison: NULL on either side gives NULL."""
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
    """AND: one false decides, then one NULL."""
    seen = set(truths)
    if False in seen:
        return False
    return None if None in seen else True


def any_of(truths: Iterable[bool | None]) -> bool | None:
    """OR: one true decides, then one NULL."""
    seen = set(truths)
    if True in seen:
        return True
    return None if None in seen else False


def negate(truth: bool | None) -> bool | None:  # noqa: FBT001 - a truth value is its subject
    """NOT: NULL stays NULL."""
    return None if truth is None else not truth
