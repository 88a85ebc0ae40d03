"""Adjacency: the edges of a pin as arrays over dense positions of their nodes.

A direction of an edge type is a CSR: the neighbours of node ``n`` are
``near[ptr[n] : ptr[n + 1]]``, ascending, and ``edge`` holds the positions of the edges that lead
there. An unbound hop is a set of pairs, so parallel edges are counted out once, when the arrays are
made. All of it is derived from the pins of the edges and of their nodes, and keyed by them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.executor.columns.id_index import node_missing
from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    from omnigraph.executor.columns.pinned_columns import PinnedColumns
    from omnigraph.executor.context import Context

    Ints = npt.NDArray[np.int64]
    SmallInts = npt.NDArray[np.int32]
    AnyInts = npt.NDArray[np.int32] | npt.NDArray[np.int64]

# The neighbour, below the node whose neighbour it is.
_LOW_HALF = np.int64(0xFFFFFFFF)
# How many edges, for each node that there is, have their ends found at once.
_EDGES_PER_NODE = 4

__all__ = [
    "Csr",
    "Direction",
    "Endpoints",
    "Topology",
    "endpoints_key",
    "in_runs",
]


class Direction(StrEnum):
    """Which way edges are followed. A text, which is found in a dictionary sooner than a member."""

    OUT = "out"
    IN = "in"
    BOTH = "both"

    @property
    def reversed(self) -> Direction:
        match self:
            case Direction.OUT:
                return Direction.IN
            case Direction.IN:
                return Direction.OUT
            case Direction.BOTH:
                return Direction.BOTH


@frozen
class Endpoints:
    """The positions of the nodes that each edge joins, in the order of the edge table."""

    source: SmallInts
    target: SmallInts

    @property
    def nbytes(self) -> int:
        return int(self.source.nbytes + self.target.nbytes)


@frozen
class Csr:
    """Neighbours by node; ``edge`` is None where edges do not matter."""

    ptr: Ints
    near: Ints
    edge: AnyInts | None

    @property
    def nbytes(self) -> int:
        edges = 0 if self.edge is None else self.edge.nbytes
        return int(self.ptr.nbytes + self.near.nbytes + edges)


def endpoints_key(
    edges: tuple[str, int, str], sources: tuple[str, int, str], targets: tuple[str, int, str]
) -> tuple[object, ...]:
    """Positions are those of three pins together."""
    return (*edges, *sources, *targets, "endpoints")


class Topology:
    """The adjacency of one edge type in one snapshot, for one query at a time."""

    __slots__ = ("_context", "_edges", "_key", "_pair_keys", "_sources", "_targets")

    def __init__(
        self,
        edges: PinnedColumns,
        sources: PinnedColumns,
        targets: PinnedColumns,
        context: Context,
    ) -> None:
        self._edges = edges
        self._sources = sources
        self._targets = targets
        self._context = context
        self._key = endpoints_key(edges.key, sources.key, targets.key)
        self._pair_keys: dict[Direction, tuple[object, ...]] = {}

    def endpoints(self) -> Endpoints:
        """Where each edge leads from and to."""
        return self._context.cache.get_or_make(self._key, self._read_endpoints)

    def pairs(self, direction: Direction) -> Csr:
        """Neighbours as a set."""
        key = self._pair_keys.get(direction)
        if key is None:
            key = self._pair_keys[direction] = (*self._key, "pairs", direction.value)
        found: Csr | None = self._context.cache.get(key)
        if found is not None:
            return found
        return self._context.cache.get_or_make(key, lambda: self._make(direction, with_edges=False))

    def edges(self, direction: Direction) -> Csr:
        """Neighbours with the edge that leads to each."""
        key = (*self._key, "edges", direction.value)
        return self._context.cache.get_or_make(key, lambda: self._make(direction, with_edges=True))

    def _make(self, direction: Direction, *, with_edges: bool) -> Csr:
        ends = self.endpoints()
        start, end = ends.source, ends.target
        edge = np.arange(len(start), dtype=np.int32)
        nodes = self._sources.rows
        match direction:
            case Direction.IN:
                start, end, nodes = end, start, self._targets.rows
            case Direction.BOTH:
                # A loop is one edge, whichever way it is followed.
                back = start != end
                start, end = (
                    np.concatenate([start, end[back]]),
                    np.concatenate([end, start[back]]),
                )
                edge = np.concatenate([edge, edge[back]])
            case Direction.OUT:
                pass
        joined = (start.astype(np.int64) << 32) | end
        made = _edge_csr(joined, edge, nodes) if with_edges else _pair_csr(joined, nodes)
        self._context.meter.hold(made.nbytes)
        self._context.meter.check()
        return made

    def _read_endpoints(self) -> Endpoints:
        sources, targets = [], []
        # Finding ids begins with a table of all nodes: as many edges share one as make it worth it.
        most_nodes = max(self._sources.rows, self._targets.rows)
        batches = self._edges.batches(["src", "dst"])
        for edges in in_runs(batches, _EDGES_PER_NODE * most_nodes):
            sources.append(_positions(edges.column("src"), self._sources))
            targets.append(_positions(edges.column("dst"), self._targets))
        found = Endpoints(_joined(sources), _joined(targets))
        self._context.meter.hold(found.nbytes)
        return found


def in_runs(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """The same rows in tables of so many at least, but for the last one."""
    run: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        run.append(batch)
        count += batch.num_rows
        if count >= rows:
            yield pa.Table.from_batches(run)
            run, count = [], 0
    if run:
        yield pa.Table.from_batches(run)


def _positions(ids: pa.ChunkedArray, nodes: PinnedColumns) -> SmallInts:
    places = pc.index_in(ids, value_set=nodes.column("id").array)
    if places.null_count:
        raise node_missing(nodes.key[0], pc.unique(ids.filter(places.is_null())).to_pylist())
    return np.asarray(places.to_numpy(), np.int32)


def _joined(parts: list[SmallInts]) -> SmallInts:
    return np.concatenate(parts) if parts else np.empty(0, np.int32)


def _pair_csr(joined: Ints, nodes: int) -> Csr:
    """``joined`` holds start and end in its halves; each pair is kept once."""
    pairs = np.sort(joined)
    first = np.ones(len(pairs), np.bool_)
    first[1:] = pairs[1:] != pairs[:-1]
    if not first.all():
        pairs = pairs[first]
    return Csr(_pointers(pairs >> 32, nodes), pairs & _LOW_HALF, None)


def _edge_csr(joined: Ints, edge: SmallInts, nodes: int) -> Csr:
    order = np.argsort(joined)
    return Csr(_pointers(joined >> 32, nodes), (joined & _LOW_HALF)[order], edge[order])


def _pointers(starts: Ints, nodes: int) -> Ints:
    ptr = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(starts, minlength=nodes), out=ptr[1:])
    return ptr
