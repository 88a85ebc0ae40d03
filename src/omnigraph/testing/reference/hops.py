"""Nodes within some hops of a node, by distance."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["reachable"]

_Node = TypeVar("_Node")


def reachable(
    start: _Node, steps: Collection[tuple[_Node, _Node]], low: int, high: int
) -> set[_Node]:
    """The nodes at a distance within the bounds; a loop adds its node one step further away."""
    return {
        node
        for node, distance in _distances(start, steps, high).items()
        if low <= distance or (low <= distance + 1 <= high and (node, node) in steps)
    }


def _distances(start: _Node, steps: Collection[tuple[_Node, _Node]], most: int) -> dict[_Node, int]:
    """The length of a shortest walk to each node that a walk of at most ``most`` steps reaches."""
    distances = {start: 0}
    for length in range(1, most + 1):
        ends = {end for begin, end in steps if distances.get(begin) == length - 1}
        if ends <= distances.keys():
            break
        distances = dict.fromkeys(ends, length) | distances
    return distances
