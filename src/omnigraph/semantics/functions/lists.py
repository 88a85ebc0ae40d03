"""Functions of lists. Items are counted from 0; a negative place counts from the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.semantics.functions.limits import ITEMS_MAX, fit_length
from omnigraph.semantics.values import sort_key

if TYPE_CHECKING:
    from omnigraph.datatypes.types import DataType

__all__ = [
    "concatenate",
    "distinct",
    "greatest",
    "index",
    "integers",
    "least",
    "reverse",
    "size",
    "sliced",
    "sort",
]

Items = tuple[Any, ...]


def size(_dtype: DataType, items: Items) -> int:
    return len(items)


def index(_dtype: DataType, items: Items, place: int) -> Any:
    """The item at a place; NULL beyond the list."""
    at = place + len(items) if place < 0 else place
    return items[at] if 0 <= at < len(items) else None


def sliced(_dtype: DataType, items: Any, low: int | None, high: int | None) -> Any:
    """The items from a place to another, which is left out; NULL is no bound."""
    return None if items is None else items[low:high]


def concatenate(_dtype: DataType, one: Items, other: Items) -> Items:
    fit_length(len(one) + len(other), ITEMS_MAX, "items")
    return one + other


def distinct(_dtype: DataType, items: Items) -> Items:
    """Each item once, where it occurs first."""
    return tuple({sort_key(item): item for item in reversed(items)}.values())[::-1]


def sort(_dtype: DataType, items: Items) -> Items:
    return tuple(sorted(items, key=sort_key))


def reverse(_dtype: DataType, items: Any) -> Any:
    """A text or a list from its end."""
    return items[::-1]


def integers(_dtype: DataType, low: int, high: int, step: int = 1) -> Items | None:
    """The integers from one to another, both included; NULL for a step of 0."""
    if step == 0:
        return None
    numbers = range(low, high + (1 if step > 0 else -1), step)
    fit_length(max(0, (high - low) // step + 1), ITEMS_MAX, "items")
    return tuple(numbers)


def least(_dtype: DataType, *values: Any) -> Any:
    """The least of the values that are not NULL."""
    return min((value for value in values if value is not None), key=sort_key, default=None)


def greatest(_dtype: DataType, *values: Any) -> Any:
    """The greatest of the values that are not NULL."""
    return max((value for value in values if value is not None), key=sort_key, default=None)
