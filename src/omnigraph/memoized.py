"""Memoizes values derived from immutable records."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["memoized"]

R = TypeVar("R")
T = TypeVar("T")


def memoized(derive: Callable[[R], T]) -> Callable[[R], T]:
    """Decorate a function of one frozen record, whose result is computed once and stored with the
    record.

    It is a ``cached_property`` that is defined outside of its class.
    """
    name = f"{derive.__module__}.{derive.__qualname__}"

    @wraps(derive)
    def once(record: R) -> T:
        kept = vars(record)
        if name not in kept:
            kept[name] = derive(record)
        found: T = kept[name]
        return found

    return once
