"""INV-9: how many edges leave a node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

JudgeOf = Callable[[str], Any]

SCHEMA = """
node Person {{ name: String @key }}
edge Owns: Person -> Person @card({})
"""


def prepared(judge_of: JudgeOf, card: str, edges: str = "") -> Any:
    """People a to d; an edge for every pair of letters, with the pair as its id."""
    judge = judge_of(SCHEMA.format(card))
    pairs = edges.split()
    judge.add(
        *({"type": "Person", "data": {"name": name}} for name in "abcd"),
        *({"edge": "Owns", "id": pair, "from": pair[0], "to": pair[1]} for pair in pairs),
    )
    return judge


def owns(judge: Any, pairs: str, **more: Any) -> Any:
    return judge.change(
        "Owns", [{"id": pair, "from": pair[0], "to": pair[1]} for pair in pairs.split()], **more
    )


def counted(judge: Any, *changes: Any) -> list[Any]:
    return sorted((item[0], item[3]) for item in judge.broken(*changes))


@pytest.mark.parametrize(
    ("before", "added", "wrong"),
    [
        ("", "ab ac", []),
        ("", "ab ac ad", ["a"]),
        ("ab ac", "ad", ["a"]),
        ("ab", "ac bc", []),
        ("ab ac", "ab", []),
        ("ab ac ba bc", "ad bd", ["a", "b"]),
    ],
)
def test_a_maximum_counts_the_branch_and_the_batch(
    judge_of: JudgeOf, before: str, added: str, wrong: list[str]
) -> None:
    judge = prepared(judge_of, "0..2", before)
    assert counted(judge, owns(judge, added)) == [("cardinality", name) for name in wrong]


def test_an_edge_that_moves_counts_where_it_is(judge_of: JudgeOf) -> None:
    judge = prepared(judge_of, "0..1", "ab bc")
    moved = judge.change("Owns", [{"id": "ab", "from": "c", "to": "b"}])
    assert counted(judge, moved) == []
    clashing = judge.change("Owns", [{"id": "ab", "from": "b", "to": "a"}])
    assert counted(judge, clashing) == [("cardinality", "b")]


def test_edges_that_go_make_room(judge_of: JudgeOf) -> None:
    judge = prepared(judge_of, "0..1", "ab")
    assert counted(judge, owns(judge, "ac", deletes=["ab"])) == []


def test_an_overwrite_counts_only_itself(judge_of: JudgeOf) -> None:
    judge = prepared(judge_of, "0..1", "ab bc")
    assert counted(judge, owns(judge, "ac bd", mode="overwrite")) == []
    assert counted(judge, owns(judge, "ac ad", mode="overwrite")) == [("cardinality", "a")]


def whole(judge_of: JudgeOf) -> Any:
    """A graph in which everybody has one edge, as a minimum of one demands."""
    judge = judge_of(SCHEMA.format("1..2"))
    people = [{"type": "Person", "data": {"name": name}} for name in "ab"]
    judge.add(
        *people,
        {"edge": "Owns", "id": "ab", "from": "a", "to": "b"},
        {"edge": "Owns", "id": "ba", "from": "b", "to": "a"},
    )
    return judge


def test_a_new_node_needs_its_minimum_in_the_same_change(judge_of: JudgeOf) -> None:
    judge = whole(judge_of)
    new = judge.change("Person", [{"name": "c"}])
    assert counted(judge, new) == [("cardinality", "c")]
    assert counted(judge, new, owns(judge, "ca")) == []


def test_the_last_edge_of_a_node_may_not_go(judge_of: JudgeOf) -> None:
    judge = whole(judge_of)
    assert counted(judge, owns(judge, "", deletes=["ab"])) == [("cardinality", "a")]
    assert counted(judge, owns(judge, "aa", deletes=["ab"])) == []
    moved = judge.change("Owns", [{"id": "ab", "from": "b", "to": "b"}])
    assert counted(judge, moved) == [("cardinality", "a")]


def test_a_node_that_goes_needs_no_edges(judge_of: JudgeOf) -> None:
    judge = whole(judge_of)
    gone = judge.change("Person", deletes=["a"])
    # Its edges go with it; the one of b that ended there as well.
    assert counted(judge, gone, owns(judge, "", deletes=["ab", "ba"])) == [("cardinality", "b")]
    assert counted(judge, gone, owns(judge, "bb", deletes=["ab", "ba"])) == []


def test_an_overwritten_type_of_nodes_is_counted_anew(judge_of: JudgeOf) -> None:
    judge = whole(judge_of)
    people = judge.change("Person", [{"name": name} for name in "abc"], mode="overwrite")
    assert counted(judge, people) == [("cardinality", "c")]


def test_nodes_that_are_replaced_with_their_edges_need_none_any_more(judge_of: JudgeOf) -> None:
    judge = whole(judge_of)
    people = judge.change("Person", [{"name": name} for name in "bc"], mode="overwrite")
    assert counted(judge, people, owns(judge, "bc cb", mode="overwrite")) == []
    assert counted(judge, people, owns(judge, "cb", mode="overwrite")) == [("cardinality", "b")]


def test_every_broken_source_is_counted_and_the_first_are_described(judge_of: JudgeOf) -> None:
    judge = judge_of(SCHEMA.format("0..1"))
    names = [f"p{number:03}" for number in range(150)]
    people = judge.change("Person", [{"name": name} for name in names])
    twice = [{"id": f"{turn}{name}", "from": name, "to": name} for turn in (1, 2) for name in names]
    report = judge.evaluate(people, judge.change("Owns", twice)).report
    assert (report.total, len(report.violations)) == (150, 100)
    assert [(found.id, found.record) for found in report.violations[:2]] == [
        ("1p000", 1),
        ("1p001", 2),
    ]


def test_an_empty_overwrite_of_edges_leaves_everybody_short(judge_of: JudgeOf) -> None:
    judge = whole(judge_of)
    assert counted(judge, owns(judge, "", mode="overwrite")) == [
        ("cardinality", "a"),
        ("cardinality", "b"),
    ]


def test_the_violation_says_how_many_there_would_be(judge_of: JudgeOf) -> None:
    judge = prepared(judge_of, "0..1", "ab")
    (found,) = judge.evaluate(owns(judge, "ac ad")).report.violations
    assert (found.message, found.property, found.record) == (
        "'a' would have 3 of them, allowed are 0..1",
        "from",
        1,
    )


def test_edges_without_a_bound_are_not_counted(judge_of: JudgeOf) -> None:
    judge = prepared(judge_of, "0..*", "ab")
    assert counted(judge, owns(judge, "ac ad ab")) == []
