"""Following edges: the kernels that turn nodes into their neighbours."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np

from omnigraph.executor.rows.keys import count_unique, unique
from omnigraph.executor.traversal.topology import Csr

if TYPE_CHECKING:
    import numpy.typing as npt

    from omnigraph.executor.traversal.topology import Direction
    from omnigraph.runtime.budget import Meter

    Ints = npt.NDArray[np.int64]

__all__ = [
    "Adjacency",
    "count_neighbours",
    "count_walks",
    "grouped",
    "neighbours",
    "neighbours_once",
    "reach",
    "split",
]

_NODE_BITS = 32
# So few nodes are followed at once, whatever is around them.
_FEW_NODES = 512
_NODE = np.int64(2**_NODE_BITS - 1)


class Adjacency(Protocol):
    """The edges of one type, however they are found."""

    def around(self, nodes: Ints, direction: Direction, *, with_edges: bool) -> tuple[Csr, Ints]:
        """A CSR that has the neighbours of these nodes, and where each of the nodes is in it."""
        ...

    def ends(self, edges: Ints) -> tuple[Ints, Ints]:
        """The source and the target of each edge."""
        ...


def neighbours(csr: Csr, at: Ints, meter: Meter) -> tuple[Ints, Ints | slice]:
    """Where each neighbour comes from (an index into ``at``), and its place in the CSR."""
    if len(at) == 1:
        low, high = int(csr.ptr[at[0]]), int(csr.ptr[at[0] + 1])
        meter.hold(8 * (high - low))
        return np.zeros(high - low, np.int64), slice(low, high)
    places, lengths = _places(csr, at, meter)
    meter.hold(8 * len(places))
    return np.arange(len(at)).repeat(lengths), places


def split(csr: Csr, at: Ints, most: int) -> list[tuple[int, int]]:
    """Runs of nodes that together have about so many neighbours at most."""
    if len(at) <= _FEW_NODES:
        return [(0, len(at))]
    ends = (csr.ptr[at + 1] - csr.ptr[at]).cumsum()
    total = int(ends[-1])
    if total <= most:
        return [(0, len(at))]
    cuts = np.searchsorted(ends, np.arange(most, total, most), side="left") + 1
    bounds = [0, *np.unique(cuts[cuts < len(at)]).tolist(), len(at)]
    return list(pairwise(bounds))


def neighbours_once(csr: Csr, at: Ints, bound: int, meter: Meter) -> Ints:
    """The nodes around all of these nodes, each once and ascending."""
    if len(at) == 1:
        return csr.near[csr.ptr[at[0]] : csr.ptr[at[0] + 1]]
    places, _ = _places(csr, at, meter)
    return unique(csr.near[places], bound)


def count_neighbours(csr: Csr, at: Ints, bound: int, meter: Meter) -> int:
    """How many nodes there are around all of these nodes, each counted once."""
    if len(at) == 1:
        return int(csr.ptr[at[0] + 1] - csr.ptr[at[0]])
    places, _ = _places(csr, at, meter)
    return count_unique(csr.near[places], bound)


def count_walks(csr: Csr, at: Ints) -> int:
    """The number of neighbours of these nodes: the sum of their degrees."""
    return int((csr.ptr[at + 1] - csr.ptr[at]).sum())


def _places(csr: Csr, at: Ints, meter: Meter) -> tuple[Ints, Ints]:
    """The places of all neighbours in the CSR, node by node, and how many each node has.

    Their memory is held before they are made: a hop from many nodes may be too large to try.
    """
    starts = csr.ptr[at]
    lengths = csr.ptr[at + 1] - starts
    ends = lengths.cumsum()
    total = int(ends[-1]) if len(ends) else 0
    meter.hold(8 * total)
    shifts = starts - ends
    shifts += lengths
    places = shifts.repeat(lengths)
    places += np.arange(total)
    return places, lengths


def grouped(origins: Ints, near: Ints, count: int) -> Csr:
    """A CSR over ``0 … count - 1`` from pairs that are sorted by origin."""
    ptr = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(origins, minlength=count), out=ptr[1:])
    return Csr(ptr, near, None)


def reach(
    adjacency: Adjacency,
    starts: Ints,
    direction: Direction,
    *,
    bounds: tuple[int, int],
    backward: bool,
    meter: Meter,
) -> Csr:
    """Nodes found by a breadth-first search from each start, at a depth within the bounds.

    No node is entered twice. A loop reports its node again one step deeper, and goes no further.
    Searching backward, starts are where paths end: theirs are the loops that count, and all paths
    that end there are one step deeper once more.
    """
    low, high = bounds
    pairs = (np.arange(len(starts)) << _NODE_BITS) | starts
    visited, frontier = pairs, pairs
    found = [pairs] if low == 0 else []
    looping = np.zeros(len(starts), np.bool_)
    for depth in range(1, high + 1):
        origins, nodes = frontier >> _NODE_BITS, frontier & _NODE
        csr, at = adjacency.around(nodes, direction, with_edges=False)
        index, places = neighbours(csr, at, meter)
        near = csr.near[places]
        loops = near == nodes[index]
        steps = (origins[index] << _NODE_BITS) | near
        entered = np.setdiff1d(steps[~loops], visited)
        if backward and depth == 1:
            looping[origins[index[loops]]] = True
        if depth >= low:
            found += [entered] if backward else [entered, steps[loops]]
        elif backward and depth == low - 1:
            found.append(entered[looping[entered >> _NODE_BITS]])
        meter.hold(entered.nbytes)
        meter.check()
        visited, frontier = np.concatenate([visited, entered]), entered
        if not len(frontier):
            break
    if backward and low == 1:
        found.append(pairs[looping])
    reached = np.unique(np.concatenate(found)) if found else pairs[:0]
    return grouped(reached >> _NODE_BITS, reached & _NODE, len(starts))
