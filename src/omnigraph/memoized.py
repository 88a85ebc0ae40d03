"""Remembering what follows from a record that never changes."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["memoized"]

R = TypeVar("R")
T = TypeVar("T")


def memoized(derive: Callable[[R], T]) -> Callable[[R], T]:
    """A function of one frozen record that is computed once and kept with the record: a
    ``cached_property`` that lives in another room than its class."""
    name = f"{derive.__module__}.{derive.__qualname__}"

    @wraps(derive)
    def once(record: R) -> T:
        kept = vars(record)
        if name not in kept:
            kept[name] = derive(record)
        found: T = kept[name]
        return found

    return once
