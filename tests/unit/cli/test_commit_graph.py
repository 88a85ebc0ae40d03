"""Drawings of history."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from omnigraph.cli.commit_graph import Node, draw


def drawing(*nodes: tuple[str, str]) -> list[str]:
    """Nodes as (id, parents), each beside its own id."""
    return list(draw(Node(name, tuple(parents), [name]) for name, parents in nodes))


def test_a_line_of_commits_is_a_line() -> None:
    assert drawing(("c", "b"), ("b", "a"), ("a", "")) == ["* c", "* b", "* a"]


def test_a_branch_joins_where_it_forked() -> None:
    assert drawing(("c", "a"), ("b", "a"), ("a", "")) == ["* c", "| * b", "|/", "* a"]


def test_a_merge_opens_a_lane_for_its_second_parent() -> None:
    assert drawing(("m", "cb"), ("c", "a"), ("b", "a"), ("a", "")) == [
        "* m",
        "|\\",
        "* | c",
        "| * b",
        "|/",
        "* a",
    ]


def test_lanes_far_apart_are_joined_across_the_ones_between() -> None:
    shown = drawing(("d", "a"), ("c", "b"), ("x", "a"), ("b", "a"), ("a", ""))
    assert shown == ["* d", "| * c", "| | * x", "| * | b", "|_|/", "|/", "* a"]


def test_a_freed_lane_does_not_break_a_line_across_it() -> None:
    shown = drawing(("d", "a"), ("c", ""), ("x", "a"), ("a", ""))
    assert shown == ["* d", "| * c", "| * x", "|/", "* a"]
    crossed = drawing(("d", "a"), ("c", "b"), ("x", "a"), ("b", ""), ("a", ""))
    assert crossed == ["* d", "| * c", "| | * x", "| * | b", "|__/", "* a"]


def test_a_parent_named_twice_is_drawn_once() -> None:
    assert drawing(("m", "aa"), ("a", "")) == ["* m", "* a"]


def test_unrelated_histories_stand_side_by_side() -> None:
    assert drawing(("b", ""), ("a", "")) == ["* b", "* a"]


def test_text_of_several_lines_stands_beside_its_lane() -> None:
    nodes = [Node("b", ("a",), ["b", "more", ""]), Node("a", (), ["a", "end"])]
    assert list(draw(nodes)) == ["* b", "| more", "|", "* a", "  end"]


def test_a_merge_uses_its_connecting_row_for_text() -> None:
    nodes = [Node("m", ("a", "b"), ["m", "more"]), Node("b", ("a",), ["b"]), Node("a", (), ["a"])]
    assert list(draw(nodes)) == ["* m", "|\\  more", "| * b", "|/", "* a"]


@st.composite
def histories(generate: st.DrawFn) -> list[Node]:
    """Random histories, newest first: parents always come later in the list."""
    size = generate(st.integers(1, 12))
    nodes = []
    for index in range(size):
        older = list(range(index + 1, size))
        parents = (
            generate(st.lists(st.sampled_from(older), unique=True, max_size=2)) if older else []
        )
        nodes.append(Node(str(index), tuple(map(str, parents)), [f"<{index}>"]))
    return nodes


@given(histories())
def test_every_commit_is_drawn_once_in_order(nodes: list[Node]) -> None:
    shown = list(draw(nodes))
    starred = [line for line in shown if "*" in line]
    assert [line.rsplit(" ", 1)[1] for line in starred] == [f"<{node.id}>" for node in nodes]
    assert all(line.count("*") == 1 for line in starred)
    assert set("".join(shown)) <= set(" *|/\\_<>0123456789")
