"""CSR arrays: neighbours as sets, edges one by one, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.errors import LimitExceeded, StorageFault
from omnigraph.executor.cache import ByteCache
from omnigraph.executor.columns.pinned_columns import PinnedColumns
from omnigraph.executor.context import Context
from omnigraph.executor.traversal import hops
from omnigraph.executor.traversal.hops import count_neighbours, neighbours, neighbours_once, reach
from omnigraph.executor.traversal.topology import Csr, Direction, Topology, in_runs
from omnigraph.runtime.budget import Budget
from omnigraph.runtime.clock import micros_to_datetime
from omnigraph.testing.memory_tables import MemoryTable
from omnigraph.testing.reference.hops import reachable

if TYPE_CHECKING:
    from collections.abc import Sequence

NODES = ["n0", "n1", "n2", "n3", "n4"]
edges = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12)


def context() -> Context:
    return Context({}, micros_to_datetime(0), Budget().start(), ByteCache(10**6))


def topology(pairs: Sequence[tuple[int, int]], nodes: Sequence[str] = NODES) -> Topology:
    shared = context()

    def pinned(rows: pa.Table) -> PinnedColumns:
        table: Any = MemoryTable(rows)
        return PinnedColumns(table.pin, lambda: table, shared)

    people = pinned(pa.table({"id": list(nodes)}))
    ends = {
        "src": pa.array([f"n{source}" for source, _ in pairs], pa.string()),
        "dst": pa.array([f"n{target}" for _, target in pairs], pa.string()),
    }
    return Topology(pinned(pa.table(ends)), people, people, shared)


def around(csr: Csr, node: int) -> list[int]:
    found: list[int] = csr.near[csr.ptr[node] : csr.ptr[node + 1]].tolist()
    return found


@given(edges)
def test_pairs_are_sets_and_edges_are_all_there(pairs: list[tuple[int, int]]) -> None:
    found = topology(pairs)
    out, into, both = (found.pairs(direction) for direction in Direction)
    for node in range(len(NODES)):
        leaving = {target for source, target in pairs if source == node}
        entering = {source for source, target in pairs if target == node}
        assert around(out, node) == sorted(leaving)
        assert around(into, node) == sorted(entering)
        assert around(both, node) == sorted(leaving | entering)
    with_edges = found.edges(Direction.OUT)
    assert with_edges.edge is not None
    assert sorted(with_edges.edge.tolist()) == list(range(len(pairs)))


@given(edges)
def test_an_edge_is_followed_from_both_ends_and_a_loop_once(pairs: list[tuple[int, int]]) -> None:
    csr = topology(pairs).edges(Direction.BOTH)
    assert csr.edge is not None
    expected = sorted(
        (here, edge, there)
        for edge, (source, target) in enumerate(pairs)
        for here, there in {(source, target), (target, source)}
    )
    found = sorted(
        (node, int(csr.edge[place]), int(csr.near[place]))
        for node in range(len(NODES))
        for place in range(csr.ptr[node], csr.ptr[node + 1])
    )
    assert found == expected


def test_an_edge_without_its_node_is_refused_and_not_left_out() -> None:
    found = topology([(0, 1), (1, 4)], nodes=["n0", "n1"])
    with pytest.raises(StorageFault, match="n4") as refused:
        found.pairs(Direction.OUT)
    assert refused.value.code == "table.row_missing"


def test_ids_of_many_small_batches_are_found_a_run_at_a_time() -> None:
    """Each search begins with a table of all nodes."""
    batches = [pa.record_batch({"n": [place] * 3}) for place in range(10)]
    runs = list(in_runs(batches, 10))
    assert [run.num_rows for run in runs] == [12, 12, 6]
    assert pa.concat_tables(runs) == pa.Table.from_batches(batches)
    assert list(in_runs([], 10)) == []


def test_what_was_made_once_is_kept() -> None:
    found = topology([(0, 1)])
    assert found.pairs(Direction.OUT) is found.pairs(Direction.OUT)


@given(edges, st.lists(st.integers(0, 4), max_size=6))
def test_neighbours_come_with_the_place_of_the_node_that_they_are_near_to(
    pairs: list[tuple[int, int]], asked: list[int]
) -> None:
    csr = topology(pairs).pairs(Direction.OUT)
    at = np.array(asked, np.int64)
    index, places = neighbours(csr, at, Budget().start())
    found = sorted(zip(index.tolist(), csr.near[places].tolist(), strict=True))
    expected = sorted(
        (place, near) for place, node in enumerate(asked) for near in around(csr, node)
    )
    assert found == expected
    once = neighbours_once(csr, at, len(NODES), Budget().start()).tolist()
    assert once == sorted({near for node in asked for near in around(csr, node)})
    assert count_neighbours(csr, at, len(NODES), Budget().start()) == len(once)


@given(edges, st.lists(st.integers(0, 4), min_size=1, max_size=9), st.integers(1, 5))
def test_a_hop_from_many_nodes_is_followed_in_pieces(
    pairs: list[tuple[int, int]], asked: list[int], most: int
) -> None:
    csr = topology(pairs).pairs(Direction.OUT)
    at = np.array(asked, np.int64)
    few, hops._FEW_NODES = hops._FEW_NODES, 0
    try:
        pieces = hops.split(csr, at, most)
    finally:
        hops._FEW_NODES = few
    assert [start for start, _ in pieces] == [0, *(stop for _, stop in pieces[:-1])]
    assert pieces[-1][1] == len(asked)
    for start, stop in pieces:
        lengths = [len(around(csr, node)) for node in asked[start:stop]]
        assert sum(lengths) < most + max(lengths) + 1


@pytest.mark.parametrize("asked", [[0], [0, 1]])
def test_more_neighbours_than_memory_are_refused_before_they_are_made(asked: list[int]) -> None:
    many = 10**12
    csr = Csr(np.array([0, many, 2 * many]), np.empty(0, np.int64), None)
    with pytest.raises(LimitExceeded) as caught:
        neighbours(csr, np.array(asked), Budget(memory_bytes=10**9).start())
    assert caught.value.code == "query.memory_limit"


class Arrays:
    """The adjacency of a test."""

    def __init__(self, found: Topology) -> None:
        self._found = found

    def around(self, nodes: Any, direction: Direction, *, with_edges: bool) -> tuple[Csr, Any]:
        return self._found.pairs(direction), nodes

    def ends(self, edges: Any) -> Any:
        raise AssertionError


@given(edges, st.integers(0, 3), st.integers(0, 3), st.booleans())
def test_a_search_of_some_steps_finds_what_the_definition_finds_from_either_end(
    pairs: list[tuple[int, int]], low: int, more: int, undirected: bool
) -> None:
    steps = {*pairs, *((end, start) for start, end in pairs if undirected)}
    expected = {
        (start, end)
        for start in range(len(NODES))
        for end in reachable(start, steps, low, low + more)
    }
    starts = np.arange(len(NODES))
    for backward in (False, True):
        direction = Direction.BOTH if undirected else Direction.IN if backward else Direction.OUT
        csr = reach(
            Arrays(topology(pairs)),
            starts,
            direction,
            bounds=(low, low + more),
            backward=backward,
            meter=Budget().start(),
        )
        found = {(start, end) for start in range(len(NODES)) for end in around(csr, start)}
        assert found == ({(end, start) for start, end in expected} if backward else expected)
