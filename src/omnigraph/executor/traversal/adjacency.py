"""The two ways to know who is joined with whom: from memory, or by looking edges up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.executor.traversal.topology import Csr, Direction

if TYPE_CHECKING:
    import numpy.typing as npt

    from omnigraph.executor.columns.row_spaces import IdSpace
    from omnigraph.executor.traversal.topology import Topology

    Ints = npt.NDArray[np.int64]

__all__ = ["IndexedAdjacency", "ResidentAdjacency"]


class ResidentAdjacency:
    """Edges as CSR arrays over positions."""

    __slots__ = ("_pairs", "_topology")

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._pairs: dict[Direction, Csr] = {}

    def around(self, nodes: Ints, direction: Direction, *, with_edges: bool) -> tuple[Csr, Ints]:
        if with_edges:
            return self._topology.edges(direction), nodes
        csr = self._pairs.get(direction)
        if csr is None:
            csr = self._pairs[direction] = self._topology.pairs(direction)
        return csr, nodes

    def let_go(self) -> None:
        """The query has ended: what is kept, the cache keeps."""
        self._pairs.clear()

    def ends(self, edges: Ints) -> tuple[Ints, Ints]:
        found = self._topology.endpoints()
        return found.source[edges].astype(np.int64), found.target[edges].astype(np.int64)


class IndexedAdjacency:
    """Edges found by the ids at their ends, through an index where there is one."""

    def __init__(self, edges: IdSpace, sources: IdSpace, targets: IdSpace) -> None:
        self._edges = edges
        self._sources = sources
        self._targets = targets

    def around(self, nodes: Ints, direction: Direction, *, with_edges: bool) -> tuple[Csr, Ints]:
        known, at = np.unique(nodes, return_inverse=True)
        parts = []
        if direction is not Direction.IN:
            parts.append(self._look_up(known, "src", with_edges=with_edges, loops=True))
        if direction is not Direction.OUT:
            loops = direction is Direction.IN
            parts.append(self._look_up(known, "dst", with_edges=with_edges, loops=loops))
        start, near, edge = (np.concatenate(each) for each in zip(*parts, strict=True))
        order = np.lexsort((edge, near, start))
        start, near, edge = start[order], near[order], edge[order]
        if not with_edges:
            first = np.ones(len(near), np.bool_)
            first[1:] = (near[1:] != near[:-1]) | (start[1:] != start[:-1])
            start, near, edge = start[first], near[first], edge[first]
        ptr = np.zeros(len(known) + 1, np.int64)
        np.cumsum(np.bincount(start, minlength=len(known)), out=ptr[1:])
        return Csr(ptr, near, edge if with_edges else None), at.astype(np.int64)

    def ends(self, edges: Ints) -> tuple[Ints, Ints]:
        return (
            self._sources.numbers_of(self._edges.vector("@src", edges).arrow()),
            self._targets.numbers_of(self._edges.vector("@dst", edges).arrow()),
        )

    def _look_up(
        self, nodes: Ints, endpoint: str, *, with_edges: bool, loops: bool
    ) -> tuple[Ints, Ints, Ints]:
        """Index of the node, neighbour and edge, for every edge at one of these nodes."""
        leaving = endpoint == "src"
        here, there = (self._sources, self._targets) if leaving else (self._targets, self._sources)
        ids = here.texts(nodes)
        rows = self._edges.read_edges(endpoint, ids, whole=with_edges)
        if not loops:
            # A loop was found from its source already.
            rows = rows.filter(pc.not_equal(rows.column("src"), rows.column("dst")))
        found = pc.index_in(rows.column(endpoint), value_set=pa.array(ids, pa.string()))
        start = found.to_numpy().astype(np.int64)
        near = there.numbers_of(rows.column("dst" if leaving else "src"))
        edge = self._edges.numbers_of_rows(rows) if with_edges else np.zeros(len(near), np.int64)
        return start, near, edge
