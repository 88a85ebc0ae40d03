"""Branches, conditions, idempotency, rehearsals and retries of a load."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from omnigraph.api.commit_listing import CommitFilter
from omnigraph.api.commits import commit_to_json
from omnigraph.api.writes import LoadRequest, parse_mode
from omnigraph.errors import (
    AlreadyExists,
    Conflict,
    GraphError,
    NotFound,
    PreconditionFailed,
    StorageFault,
    Unsupported,
)
from omnigraph.graph.open import open_graph
from omnigraph.loading import load
from omnigraph.loading import writer as load_writer
from omnigraph.runtime import faults

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from omnigraph.graph.facade import EmbeddedGraph


@pytest.fixture(autouse=True)
def _no_faults() -> Any:
    yield
    faults.clear()


def branches(graph: EmbeddedGraph) -> list[str]:
    return [info.ref.name for info in graph.branches.list()]


def files_of(graph: EmbeddedGraph) -> set[str]:
    return {
        os.path.join(folder, file)  # noqa: PTH118 - os.walk speaks in texts
        for folder, _, files in os.walk(graph.uri)
        for file in files
    }


def test_a_load_goes_onto_a_branch(graph: EmbeddedGraph, tools: Any) -> None:
    graph.branches.create("dev")
    result = graph.load([tools.person("a")], mode="append", branch="dev", actor="ada", message="m")
    assert tools.names(graph.at("dev")) == ["a"]
    assert tools.names(graph) == []
    assert result.to_json() == {
        "branch": "dev",
        "base_branch": None,
        "branch_created": False,
        "mode": "append",
        "nodes": [{"name": "Person", "entities_loaded": 1}],
        "edges": [],
        "total_entities": 1,
        "superseded": 0,
        "deleted": 0,
        "actor_id": "ada",
        "commit": commit_to_json(graph.commits.list(CommitFilter(target="dev")).commits[0]),
    }
    assert result.commit is not None
    assert (result.commit.kind.value, result.commit.message) == ("load", "m")


def test_a_missing_branch_is_an_error_unless_it_is_made(graph: EmbeddedGraph, tools: Any) -> None:
    with pytest.raises(NotFound, match="branch"):
        graph.load([tools.person("a")], mode="append", branch="dev")
    graph.load([tools.person("z")], mode="append")
    result = graph.load([tools.person("a")], mode="append", branch="dev", from_="main")
    assert (result.branch_created, result.base_branch) == (True, "main")
    assert tools.names(graph.at("dev")) == ["a", "z"]
    again = graph.load([tools.person("b")], mode="append", branch="dev", from_="main")
    assert (again.branch_created, again.base_branch) == (False, "main")


def test_a_branch_may_begin_at_any_target(graph: EmbeddedGraph, tools: Any) -> None:
    first = graph.load([tools.person("a")], mode="append").commit
    graph.tags.create("v1")
    graph.load([tools.person("b")], mode="append")
    assert first is not None
    for name, target in (("x", first.id), ("y", "v1")):
        graph.load([tools.person("c")], mode="append", branch=name, from_=target)
        assert tools.names(graph.at(name)) == ["a", "c"]


def test_a_branch_does_not_remain_when_the_data_is_wrong(graph: EmbeddedGraph, tools: Any) -> None:
    tools.refused(graph, [{"type": "Nobody"}], branch="dev", from_="main")
    tools.refused(graph, [tools.knows("a", "b")], branch="dev", from_="main")
    graph.load([tools.person("a")], mode="append")
    tools.refused(graph, [tools.person("a")], branch="dev", from_="main")
    assert branches(graph) == ["main"]


@pytest.mark.parametrize(
    "point", ["attempt.prepared", "attempt.before_table_commit", "attempt.tables_committed"]
)
def test_a_branch_does_not_remain_when_the_commit_fails(
    graph: EmbeddedGraph, tools: Any, point: str
) -> None:
    faults.arm(point, "storage")
    with pytest.raises(StorageFault):
        graph.load([tools.person("a")], mode="append", branch="dev", from_="main")
    assert branches(graph) == ["main"]
    faults.clear()
    assert graph.load([tools.person("a")], mode="append", branch="dev", from_="main").branch_created


def test_a_branch_that_others_wrote_to_is_not_taken_away(graph: EmbeddedGraph, tools: Any) -> None:
    def intrude() -> None:
        faults.clear()
        graph.load([tools.person("other")], mode="append", branch="dev")
        raise StorageFault("storage.injected", "as ordered")

    faults.arm("attempt.prepared", intrude)
    with pytest.raises(StorageFault):
        graph.load([tools.person("a")], mode="append", branch="dev", from_="main")
    assert tools.names(graph.at("dev")) == ["other"]


def test_a_branch_that_appears_meanwhile_is_used(
    graph: EmbeddedGraph, tools: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = importlib.import_module("omnigraph.loading.load")

    made = run.create_branch

    def race(*arguments: Any) -> Any:
        made(*arguments)
        raise AlreadyExists("branch.exists", "somebody was faster")

    monkeypatch.setattr(run, "create_branch", race)
    result = graph.load([tools.person("a")], mode="append", branch="dev", from_="main")
    assert not result.branch_created
    assert tools.names(graph.at("dev")) == ["a"]


def test_a_bad_name_of_a_branch_is_refused(graph: EmbeddedGraph, tools: Any) -> None:
    error = tools.refused(graph, [tools.person("a")], branch="a b", from_="main")
    assert error.code.startswith("branch.")


def test_a_condition_holds_or_the_load_does_not_run(graph: EmbeddedGraph, tools: Any) -> None:
    head = graph.status().head
    graph.load([tools.person("a")], mode="append", if_commit=head)
    with pytest.raises(PreconditionFailed):
        graph.load([tools.person("b")], mode="append", if_commit=head)
    assert tools.names(graph) == ["a"]


@pytest.mark.parametrize("form", ["records", "lines", "frame", "csv"])
def test_a_repeated_request_is_one_commit(graph: EmbeddedGraph, tools: Any, form: str) -> None:
    def request(name: str) -> dict[str, Any]:
        match form:
            case "records":
                return {"source": [tools.person(name)]}
            case "lines":
                return {"source": tools.lines(tools.person(name))}
            case "frame":
                return {"source": pa.table({"name": [name]}), "type": "Person"}
            case _:
                return {"source": f"name\n{name}\n".encode(), "type": "Person", "format": "csv"}

    def run(name: str, **more: Any) -> Any:
        return graph.load(mode="merge", idempotency_key="k", **{**request(name), **more})

    first, second = run("a"), run("a")
    assert first.commit.id == second.commit.id
    assert second.total_entities == 1
    rehearsed = run("a", dry_run=True)
    assert (rehearsed.dry_run, rehearsed.commit.id) == (True, first.commit.id)
    for dry_run in (False, True):
        with pytest.raises(Conflict, match="another request"):
            run("b", dry_run=dry_run)
    with pytest.raises(Conflict, match="another request"):
        graph.load(mode="append", idempotency_key="k", **request("a"))
    assert len(graph.commits.list().commits) == 2


def test_the_same_rows_of_another_type_are_another_request(graph: EmbeddedGraph) -> None:
    rows = pa.table({"from": pa.array([], pa.string()), "to": pa.array([], pa.string())})
    people = pa.table({"name": ["a"]})
    graph.load({"Person": people, "Knows": rows}, mode="append", idempotency_key="k")
    with pytest.raises(Conflict, match="another request"):
        graph.load({"Person": people, "Owns": rows}, mode="append", idempotency_key="k")


def test_failures_are_not_remembered(graph: EmbeddedGraph, tools: Any) -> None:
    bad, good = tools.lines("{"), tools.lines(tools.person("a"))
    with pytest.raises(GraphError):
        graph.load(bad, mode="append", idempotency_key="k")
    assert graph.load(good, mode="append", idempotency_key="k").commit is not None


def test_a_repeated_request_onto_a_new_branch_is_one_commit(
    graph: EmbeddedGraph, tools: Any
) -> None:
    results = [
        graph.load(
            [tools.person("a")], mode="append", branch="dev", from_="main", idempotency_key="k"
        )
        for _ in range(2)
    ]
    assert [result.branch_created for result in results] == [True, False]
    assert len({result.commit.id for result in results if result.commit}) == 1


def test_a_rehearsal_counts_and_writes_nothing_at_all(graph: EmbeddedGraph, tools: Any) -> None:
    graph.load([tools.person("a"), tools.person("b"), tools.knows("a", "b")], mode="append")
    before = files_of(graph)
    batch = [tools.person("a", age=1), tools.person("c"), {"delete": "Person", "id": "b"}]
    result = graph.load(batch, mode="merge", dry_run=True)
    assert (result.total_entities, result.deleted, result.commit) == (2, 2, None)
    assert result.to_json()["dry_run"] is True
    assert not graph.load(
        batch, mode="merge", branch="x", from_="main", dry_run=True
    ).branch_created
    with pytest.raises(GraphError):
        graph.load([tools.knows("a", "zz")], mode="merge", dry_run=True)
    assert files_of(graph) == before
    assert branches(graph) == ["main"]


def test_a_read_only_graph_can_only_rehearse(graph: EmbeddedGraph, tools: Any) -> None:
    reader = open_graph(graph.uri, read_only=True)
    assert reader.load([tools.person("a")], mode="append", dry_run=True).total_entities == 1
    with pytest.raises(Unsupported):
        reader.load([tools.person("a")], mode="append")


# --- other writers ---


def between_prepare_and_publish(action: Callable[[], object]) -> None:
    """Do something once, after the load was prepared."""

    def act() -> None:
        faults.clear()
        action()

    faults.arm("attempt.prepared", act)


@pytest.mark.parametrize("mode", ["append", "merge"])
def test_append_and_merge_are_prepared_again_on_a_moved_head(
    graph: EmbeddedGraph, tools: Any, mode: str
) -> None:
    graph.load([tools.person("a")], mode="append")
    between_prepare_and_publish(lambda: graph.load([tools.person("b", age=1)], mode="append"))
    batch = tools.lines(tools.person("c"), tools.knows("c", "a"))
    assert graph.load(batch, mode=mode).commit is not None
    assert tools.names(graph) == ["a", "b", "c"]


def test_an_overwrite_on_a_moved_head_is_a_conflict(graph: EmbeddedGraph, tools: Any) -> None:
    graph.load([tools.person("a")], mode="append")
    between_prepare_and_publish(lambda: graph.load([tools.person("b")], mode="append"))
    with pytest.raises(Conflict):
        graph.load([tools.person("c")], mode="overwrite")
    assert tools.names(graph) == ["a", "b"]


def test_what_was_right_before_may_be_wrong_afterwards(graph: EmbeddedGraph, tools: Any) -> None:
    graph.load([tools.person("a"), tools.person("b")], mode="append")
    gone = 'query q() { delete Person where name = "b" }'
    between_prepare_and_publish(lambda: graph.mutate(gone))
    with pytest.raises(GraphError) as caught:
        graph.load(tools.lines(tools.knows("a", "b")), mode="append")
    assert caught.value.code == "data.endpoint"
    assert tools.content(graph, "Knows") == []


def test_a_strict_insert_stays_strict_when_prepared_again(graph: EmbeddedGraph, tools: Any) -> None:
    between_prepare_and_publish(lambda: graph.load([tools.person("a", age=1)], mode="append"))
    with pytest.raises(Conflict) as caught:
        graph.load([tools.person("a", age=2)], mode="append")
    assert caught.value.code == "key.exists"
    assert tools.content(graph, "Person")[0]["data"]["age"] == 1


def test_large_inserts_are_written_once_however_often_they_are_prepared(
    graph: EmbeddedGraph, tools: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    staged: list[Any] = []
    stage: Any = vars(load_writer)["stage_changes"]

    def spy(*arguments: Any, **more: Any) -> Any:
        prepared = stage(*arguments, **more)
        staged.append(prepared.effects[0].staged.files)
        return prepared

    monkeypatch.setattr(load_writer, "stage_changes", spy)
    between_prepare_and_publish(lambda: graph.load([tools.person("other")], mode="append"))
    names = pa.table({"name": [f"p{n}" for n in range(20_000)]})
    graph.load(names, mode="append", type="Person")
    assert len(staged) == 3
    assert staged[0] == staged[2]
    assert len(tools.names(graph)) == 20_001


def test_a_schema_that_moves_meanwhile_is_a_conflict(graph: EmbeddedGraph, tools: Any) -> None:
    class Moving:
        """Records, and a schema change behind the first of them."""

        def __iter__(self) -> Any:
            yield tools.person("a")
            graph.apply_schema(graph.schema.replace("age: I32?", "age: I32?\n    more: I32?"))
            yield tools.person("b")

    with pytest.raises(Conflict) as caught:
        load(graph.engine, LoadRequest(Moving(), parse_mode("append")))
    assert caught.value.code == "load.schema_moved"


def test_paths_may_be_of_either_kind(graph: EmbeddedGraph, tools: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(tools.lines(tools.person("a")))
    assert graph.load(str(path), mode="append").total_entities == 1
    assert graph.load([path], mode="merge").total_entities == 1


def test_a_rehearsal_holds_to_its_condition(graph: EmbeddedGraph, tools: Any) -> None:
    head = graph.status().head
    graph.load([tools.person("a")], mode="append")
    with pytest.raises(PreconditionFailed):
        graph.load([tools.person("b")], mode="append", if_commit=head, dry_run=True)


@pytest.mark.parametrize(
    "record", [{("a", 1): 3, "b": 2}, {1: 2, "type": "Person"}, {"type": "Person", "data": {1: 2}}]
)
def test_a_record_that_json_cannot_say_is_refused_with_a_key_too(
    graph: EmbeddedGraph, tools: Any, record: Any
) -> None:
    for key in (None, "k"):
        error = tools.refused(graph, [record], idempotency_key=key)
        assert error.details["violations"][0]["record"] == 1


@pytest.mark.parametrize("key", ["", "x" * 256, "\ud800", 7])
def test_a_key_that_cannot_be_kept_is_refused(graph: EmbeddedGraph, tools: Any, key: Any) -> None:
    assert tools.refused(graph, [tools.person("a")], idempotency_key=key).code == (
        "idempotency.bad_key"
    )


def test_a_record_nested_without_end_is_refused_with_a_key_too(
    graph: EmbeddedGraph, tools: Any
) -> None:
    nested: list[Any] = []
    for _ in range(10_000):
        nested = [nested]
    for key in (None, "k"):
        error = tools.refused(graph, [tools.person(nested)], idempotency_key=key)
        assert tools.violations(error) == [("type", 1, None, "name")]


def test_a_path_that_cannot_be_one_is_named(graph: EmbeddedGraph, tools: Any) -> None:
    assert tools.refused(graph, "a\0b").code == "file.unreadable"
