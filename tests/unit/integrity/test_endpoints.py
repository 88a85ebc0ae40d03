"""INV-9: edges end at nodes that exist after the change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

JudgeOf = Callable[[str], Any]

SCHEMA = """
node Person { name: String @key }
node Place { name: String @key }
edge Knows: Person -> Person
edge Lives: Person -> Place
"""


def person(name: str) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name}}


def knows(source: str, target: str, **more: Any) -> dict[str, Any]:
    return {"edge": "Knows", "from": source, "to": target, **more}


@pytest.fixture
def judge(judge_of: JudgeOf) -> Any:
    judge = judge_of(SCHEMA)
    judge.add(
        *(person(name) for name in "abc"),
        {"type": "Place", "data": {"name": "p"}},
        knows("a", "b", id="ab"),
        knows("b", "c", id="bc"),
    )
    return judge


def test_an_end_may_be_in_the_branch_or_in_the_batch(judge: Any) -> None:
    edges = judge.change("Knows", [{"from": "a", "to": "new"}, {"from": "new", "to": "c"}])
    assert judge.broken(edges, judge.change("Person", [{"name": "new"}])) == []


def test_a_missing_end_is_named(judge: Any) -> None:
    edges = judge.change(
        "Knows", [{"from": "a", "to": "b"}, {"from": "a", "to": "x"}, {"from": "y", "to": "x"}]
    )
    assert judge.broken(edges) == [
        ("endpoint", 3, "from", "y"),
        ("endpoint", 2, "to", "x"),
        ("endpoint", 3, "to", "x"),
    ]


def test_an_end_must_be_of_the_right_type(judge: Any) -> None:
    assert judge.broken(judge.change("Lives", [{"from": "a", "to": "b"}])) == [
        ("endpoint", 1, "to", "b")
    ]
    assert judge.broken(judge.change("Lives", [{"from": "a", "to": "p"}])) == []


def test_a_node_that_goes_is_no_end(judge: Any) -> None:
    gone = judge.change("Person", deletes=["a"])
    edges = judge.change("Knows", [{"from": "a", "to": "b"}], deletes=["ab"])
    assert judge.broken(gone, edges) == [("endpoint", 1, "from", "a")]


def test_after_an_overwrite_only_the_batch_has_nodes(judge: Any) -> None:
    people = judge.change("Person", [{"name": "a"}, {"name": "z"}], mode="overwrite")
    edges = judge.change("Knows", [{"from": "a", "to": "z"}], mode="overwrite")
    assert judge.broken(people, edges) == []
    lost = judge.change("Knows", [{"from": "a", "to": "b"}], mode="overwrite")
    assert judge.broken(people, lost) == [("endpoint", 1, "to", "b")]


def test_an_overwrite_may_not_leave_edges_hanging(judge: Any) -> None:
    people = judge.change("Person", [{"name": "a"}, {"name": "b"}], mode="overwrite")
    report = judge.evaluate(people).report
    assert [(item.rule, item.type, item.id, item.property) for item in report.violations] == [
        ("endpoint", "Knows", "bc", "to")
    ]


def test_edges_that_go_in_the_same_change_do_not_hang(judge: Any) -> None:
    people = judge.change("Person", [{"name": "a"}, {"name": "b"}], mode="overwrite")
    assert judge.broken(people, judge.change("Knows", deletes=["bc"])) == []
    moved = judge.change("Knows", [{"id": "bc", "from": "b", "to": "a"}])
    assert judge.broken(people, moved) == []
    assert judge.broken(people, judge.change("Knows", mode="overwrite")) == []


def test_an_overwrite_that_keeps_every_node_is_fine(judge: Any) -> None:
    people = judge.change("Person", [{"name": name} for name in "cbaz"], mode="overwrite")
    assert judge.broken(people) == []


def test_a_partial_batch_says_nothing_of_what_is_missing(judge: Any) -> None:
    edges = judge.change("Knows", [{"from": "a", "to": "x"}])
    assert judge.broken(edges, partial=True) == []


def test_what_was_looked_at_is_told_even_where_nothing_was_found(judge: Any) -> None:
    catalog = judge.engine.snapshot().catalog
    person_id, place_id = (catalog.node(name).id for name in ("Person", "Place"))
    edges = judge.change("Lives", [{"from": "a", "to": "p"}])
    assert {person_id, place_id} <= judge.evaluate(edges).reads
    overwritten = judge.evaluate(judge.change("Person", mode="overwrite")).reads
    assert {catalog.edge("Knows").id, catalog.edge("Lives").id} <= overwritten


def test_many_missing_ends_are_found_with_one_look(judge: Any) -> None:
    rows = [{"from": "a", "to": f"x{n}"} for n in range(3_000)]
    report = judge.evaluate(judge.change("Knows", rows)).report
    assert report.counts == {"endpoint": 3_000}
    assert len(report.violations) == 100
