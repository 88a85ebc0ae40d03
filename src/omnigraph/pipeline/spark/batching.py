"""Batching by weight: consecutive items up to a limit, for one task or one file."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["batched_by_weight"]

T = TypeVar("T")


def batched_by_weight(
    items: Iterable[T], weigh: Callable[[T], int], weight_max: int
) -> Iterator[tuple[T, ...]]:
    """Group neighbours up to ``weight_max`` in sum; a heavier item forms its own group."""
    waiting: list[T] = []
    weight = 0
    for item in items:
        own = weigh(item)
        if waiting and weight + own > weight_max:
            yield tuple(waiting)
            waiting, weight = [], 0
        waiting.append(item)
        weight += own
    if waiting:
        yield tuple(waiting)
