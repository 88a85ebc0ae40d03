"""Naming a point of history: every form that works, and what is said of every other."""

from __future__ import annotations

import datetime as dt
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.api.targets import target_text
from omnigraph.errors import GraphError, InvalidInput, NotFound, StorageFault
from omnigraph.graph.facade import EmbeddedGraph
from omnigraph.graph.open import open_graph
from omnigraph.testing.kit import add, ids_of, new_engine

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.session.engine import Engine


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    made = new_engine(tmp_path / "graph")
    add(made, ["a"])
    return made


@pytest.fixture
def graph(engine: Engine) -> EmbeddedGraph:
    return EmbeddedGraph(engine)


def test_what_the_graph_hands_out_is_a_target(graph: EmbeddedGraph, engine: Engine) -> None:
    commit = graph.commits.list().commits[0]
    tag = graph.tags.create("v1", at=commit)
    branch = graph.branches.create("dev", source=commit.ref)
    (info,) = [found for found in graph.branches.list() if found.ref.name == "dev"]
    add(engine, ["b"])
    for target in (commit, commit.ref, commit.id, commit.id.lower(), tag, branch, info):
        assert ids_of(engine, target_text(target)) == ["a"], target
        assert graph.at(target).snapshot()["graph_commit_id"] == commit.id
    assert graph.commits.show(commit) == graph.commits.show(commit.id.lower()) == commit
    assert graph.commits.is_ancestor(commit, graph.commits.list().commits[0])
    assert [change.id for change in graph.diff(commit, "main")] == ["b"]


def test_a_datetime_is_main_at_that_time(graph: EmbeddedGraph, engine: Engine) -> None:
    made = dt.datetime.fromtimestamp(
        graph.commits.list().commits[0].time_micros / 1_000_000, dt.timezone(dt.timedelta(hours=5))
    )
    add(engine, ["b"])
    moment = made + dt.timedelta(microseconds=1)
    assert ids_of(engine, target_text(moment)) == ["a"]
    with pytest.raises(InvalidInput) as told:
        graph.at(moment.replace(tzinfo=None))
    assert told.value.code == "target.bad_time"


@pytest.mark.parametrize("target", [None, 5, b"main", ["main"], object(), dt.date(2026, 11, 1)])
def test_what_is_no_target_is_refused_wherever_one_is_asked_for(
    target: Any, graph: EmbeddedGraph
) -> None:
    for verb in (
        lambda: graph.at(target),
        lambda: graph.diff(target, "main"),
        lambda: graph.diff("main", target),
        lambda: graph.branches.create("b", source=target),
        lambda: graph.tags.create("t", at=target),
        lambda: graph.branches.reset("main", to=target),
        lambda: graph.blame("Person", "a", target=target),
    ):
        with pytest.raises(InvalidInput) as told:
            verb()
        assert told.value.code == "target.bad_type"
    with pytest.raises(InvalidInput) as told:
        graph.commits.show(target)
    assert told.value.code == "commit.bad_id"


@pytest.mark.parametrize(
    "target", ["", " ", ".", "..", "a/..", "é", "x" * 300, "a\0b", "Main", "\ud800", "main~1"]
)
def test_a_name_that_nothing_can_have_is_missing_and_no_fault_of_the_storage(
    target: str, graph: EmbeddedGraph
) -> None:
    with pytest.raises(NotFound) as told:
        graph.at(target)
    assert told.value.code == "target.missing"
    with pytest.raises(NotFound):
        graph.at(f"{target}@v1")


@pytest.mark.parametrize("name", [None, 5, b"x", ["x"]])
def test_a_name_that_is_no_text_is_refused(name: Any, graph: EmbeddedGraph) -> None:
    for verb in (
        lambda: graph.branches.create(name),
        lambda: graph.branches.delete(name),
        lambda: graph.tags.create(name),
        lambda: graph.tags.delete(name),
        lambda: graph.mutate("query q() { insert Person { name: 'x' } }", branch=name),
    ):
        with pytest.raises(GraphError):
            verb()


def test_a_branch_that_lost_its_manifest_is_damaged_and_not_missing(
    graph: EmbeddedGraph, engine: Engine, tmp_path: Path
) -> None:
    branch = graph.branches.create("dev")
    shutil.rmtree(tmp_path / "graph" / "__manifest" / branch.incarnation)
    with pytest.raises(StorageFault) as told:
        open_graph(tmp_path / "graph").at("dev")
    assert told.value.code == "branch.damaged"
    # It does not stop the others.
    assert ids_of(engine) == ["a"]
    graph.branches.create("other")
    graph.branches.delete("other")
