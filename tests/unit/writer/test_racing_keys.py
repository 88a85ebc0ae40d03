"""One idempotency key, many requests at once: one commit, and everybody is told of it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

import omnigraph
from omnigraph.api.commit_listing import CommitFilter
from omnigraph.errors import Conflict

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from omnigraph import Graph

SCHEMA = "node Person { name: String @key }"
CROWD = 8


def race(requests: list[Callable[[], Any]]) -> list[Any]:
    together = threading.Barrier(len(requests))
    answers: list[Any] = [None] * len(requests)

    def run(number: int) -> None:
        together.wait()
        try:
            answers[number] = requests[number]()
        except Conflict as error:
            answers[number] = error

    crowd = [threading.Thread(target=run, args=(number,)) for number in range(len(requests))]
    for each in crowd:
        each.start()
    for each in crowd:
        each.join()
    return answers


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return omnigraph.init(tmp_path / "g.omni", SCHEMA, durability="process", actor="ada")


def insert(graph: Graph, name: str) -> Any:
    text = "query add($n: String) { insert Person { name: $n } }"
    return graph.mutate(text, {"n": name}, idempotency_key="k")


def test_the_same_mutation_at_once_makes_one_commit(graph: Graph) -> None:
    answers = race([lambda: insert(graph, "Ada")] * CROWD)
    assert len({answer.commit.id for answer in answers}) == 1
    assert {answer.query_name for answer in answers} == {"add"}
    assert len(graph.commits.list().commits) == 2


@pytest.mark.parametrize("branch", ["main", "new"])
def test_the_same_load_at_once_makes_one_commit(graph: Graph, branch: str) -> None:
    def load() -> Any:
        return graph.load(
            [{"name": "Ada"}],
            mode="append",
            type="Person",
            branch=branch,
            from_="main",
            idempotency_key="k",
        )

    answers = race([load] * CROWD)
    assert len({answer.commit.id for answer in answers}) == 1
    made = graph.commits.list(CommitFilter(branch)).commits
    assert len(made) == 2


def test_of_different_requests_with_one_key_only_one_succeeds(graph: Graph) -> None:
    answers = race([lambda number=number: insert(graph, f"p{number}") for number in range(CROWD)])  # type: ignore[misc]
    refused = [answer for answer in answers if isinstance(answer, Conflict)]
    assert len(refused) == CROWD - 1
    assert {error.code for error in refused} <= {"idempotency.reused", "idempotency.raced"}
    assert len(graph.commits.list().commits) == 2
