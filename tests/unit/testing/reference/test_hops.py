"""Which nodes a bounded search reports: each case is drawn above its expectation."""

import pytest

from omnigraph.testing.reference.hops import reachable


def reached(start: str, low: int, high: int, *edges: str) -> set[str]:
    """Edges are written ``ab``: from a to b."""
    return reachable(start, [(edge[0], edge[1]) for edge in edges], low, high)


def test_one_hop_is_the_set_of_neighbours() -> None:
    assert reached("a", 1, 1, "ab", "ac", "bd") == {"b", "c"}


def test_bounds_are_depths_and_both_are_included() -> None:
    # a → b → c → d → e
    chain = ("ab", "bc", "cd", "de")
    assert reached("a", 1, 2, *chain) == {"b", "c"}
    assert reached("a", 2, 3, *chain) == {"c", "d"}
    assert reached("a", 3, 3, *chain) == {"d"}
    assert reached("a", 5, 9, *chain) == set()


def test_depth_zero_is_the_start_itself() -> None:
    assert reached("a", 0, 0, "ab") == {"a"}
    assert reached("a", 0, 1, "ab") == {"a", "b"}


def test_a_node_counts_at_its_shortest_depth_only() -> None:
    # a → b → c and a → c: c is one hop away, so it is not two hops away.
    assert reached("a", 2, 2, "ab", "bc", "ac") == set()
    assert reached("a", 1, 1, "ab", "bc", "ac") == {"b", "c"}


def test_a_cycle_does_not_bring_the_search_back_to_its_start() -> None:
    # a → b → a
    assert reached("a", 1, 9, "ab", "ba") == {"b"}
    assert reached("a", 2, 2, "ab", "ba") == set()


def test_a_loop_on_the_start_reports_it_at_depth_one_only() -> None:
    assert reached("a", 1, 1, "aa") == {"a"}
    assert reached("a", 2, 9, "aa") == set()


def test_a_loop_on_a_found_node_reports_it_one_step_deeper() -> None:
    # a → b, b → b
    assert reached("a", 1, 1, "ab", "bb") == {"b"}
    assert reached("a", 2, 2, "ab", "bb") == {"b"}
    assert reached("a", 3, 9, "ab", "bb") == set()


def test_a_loop_does_not_let_the_search_go_around_again() -> None:
    # a → a, a → b: b is found once, at depth one.
    assert reached("a", 2, 9, "aa", "ab") == set()


def test_the_search_backwards_is_another_relation_when_there_are_loops() -> None:
    # a → b with a loop on b: b is reported at depth two from a, but a not from b.
    assert reached("a", 2, 2, "ab", "bb") == {"b"}
    assert reached("b", 2, 2, "ba", "bb") == set()


@pytest.mark.parametrize("high", [6, 10**9])
def test_an_open_bound_ends_with_the_graph(high: int) -> None:
    assert reached("a", 1, high, "ab", "bc", "ca", "cd") == {"b", "c", "d"}


def test_equal_ids_of_two_types_are_two_nodes() -> None:
    edges = [(("A", "x"), ("B", "x"))]
    assert reachable(("A", "x"), edges, 1, 9) == {("B", "x")}
