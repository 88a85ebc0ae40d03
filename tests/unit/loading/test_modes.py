"""Append, merge and overwrite, by whether an id exists and whether it comes twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.errors import KeyConflict, ValidationFailure

if TYPE_CHECKING:
    from omnigraph.api.graph import Graph

# What exists: people a and b, notes x and y, an edge k from a to b, and a owns x.
NODE = {
    "existing": {"type": "Person", "data": {"name": "a", "age": 1}},
    "absent": {"type": "Person", "data": {"name": "c", "age": 1}},
}
KEYLESS_NODE = {
    "existing": {"type": "Note", "id": "x", "data": {"text": "new"}},
    "absent": {"type": "Note", "id": "z", "data": {"text": "new"}},
}
EDGE = {
    "existing": {"edge": "Knows", "id": "k", "from": "b", "to": "a"},
    "absent": {"edge": "Knows", "id": "l", "from": "b", "to": "a"},
}
KEYED_EDGE = {
    "existing": {"edge": "Owns", "from": "a", "to": "x", "data": {"share": 0.5}},
    "absent": {"edge": "Owns", "from": "b", "to": "x", "data": {"share": 0.5}},
}
KINDS: dict[str, tuple[str, dict[str, Any], int]] = {
    "node": ("Person", NODE, 2),
    "keyless node": ("Note", KEYLESS_NODE, 2),
    "edge": ("Knows", EDGE, 1),
    "keyed edge": ("Owns", KEYED_EDGE, 1),
}


@pytest.fixture
def stocked(graph: Graph) -> Graph:
    graph.load(
        [
            {"type": "Person", "data": {"name": "a"}},
            {"type": "Person", "data": {"name": "b"}},
            {"type": "Note", "id": "x", "data": {"text": "old"}},
            {"type": "Note", "id": "y", "data": {"text": "old"}},
            {"edge": "Knows", "id": "k", "from": "a", "to": "b"},
            {"edge": "Owns", "from": "a", "to": "x"},
        ],
        mode="append",
    )
    return graph


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("twice", [False, True], ids=["once", "twice"])
@pytest.mark.parametrize("which", ["existing", "absent"])
def test_append_is_a_strict_insert(
    stocked: Graph, tools: Any, kind: str, which: str, twice: bool
) -> None:
    type_name, records, before = KINDS[kind]
    batch = [records[which]] * (1 + twice)
    if twice:
        error = tools.refused(stocked, batch)
        assert isinstance(error, ValidationFailure)
        assert error.details["counts"] == {"key": 1}
    elif which == "existing":
        error = tools.refused(stocked, batch)
        assert isinstance(error, KeyConflict)
        assert error.details["type_name"] == type_name
    else:
        result = stocked.load(batch, mode="append")
        assert result.total_entities == 1
        assert len(tools.content(stocked, type_name)) == before + 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("twice", [False, True], ids=["once", "twice"])
@pytest.mark.parametrize("which", ["existing", "absent"])
def test_merge_is_an_upsert_in_which_the_last_record_wins(
    stocked: Graph, tools: Any, kind: str, which: str, twice: bool
) -> None:
    type_name, records, before = KINDS[kind]
    earlier = {**records[which], "data": {**records[which].get("data", {})}}
    if kind == "node":
        earlier["data"]["age"] = 99
    result = stocked.load([*([earlier] if twice else []), records[which]], mode="merge")
    assert (result.total_entities, result.superseded) == (1, int(twice))
    rows = tools.content(stocked, type_name)
    assert len(rows) == before + (which == "absent")
    if kind == "node":
        assert [row["data"]["age"] for row in rows if row["data"]["age"] is not None] == [1]
    assert result.commit is not None
    counts = result.commit.counts
    inserted, updated = int(which == "absent"), int(which == "existing")
    if "edge" in kind:
        assert (counts.edges_inserted, counts.edges_updated) == (inserted, updated)
    else:
        assert (counts.nodes_inserted, counts.nodes_updated) == (inserted, updated)


@pytest.mark.parametrize("kind", ["edge", "keyed edge"])
@pytest.mark.parametrize("twice", [False, True], ids=["once", "twice"])
@pytest.mark.parametrize("which", ["existing", "absent"])
def test_overwrite_leaves_what_the_input_has(
    stocked: Graph, tools: Any, kind: str, which: str, twice: bool
) -> None:
    type_name, records, _ = KINDS[kind]
    batch = [records[which]] * (1 + twice)
    others = [name for name in ("Person", "Note", "Knows", "Owns") if name != type_name]
    untouched = tools.content(stocked, *others)
    if twice:
        assert tools.refused(stocked, batch, "overwrite").details["counts"] == {"key": 1}
        return
    result = stocked.load(batch, mode="overwrite")
    assert len(tools.content(stocked, type_name)) == 1
    assert tools.content(stocked, *others) == untouched
    assert result.commit is not None
    gone = int(which == "absent")
    assert (result.commit.counts.edges_deleted, result.deleted) == (gone, gone)


def test_an_overwrite_may_not_take_the_nodes_of_other_edges(stocked: Graph, tools: Any) -> None:
    error = tools.refused(stocked, [NODE["existing"]], "overwrite")
    assert [found["type"] for found in error.details["violations"]] == ["Knows"]
    everything = [NODE["existing"], {"edge": "Owns", "from": "a", "to": "x"}]
    cleared = [*everything, {"edge": "Knows", "from": "a", "to": "a"}]
    assert stocked.load(cleared, mode="overwrite").total_entities == 3
    assert tools.names(stocked) == ["a"]


def test_an_empty_set_of_a_named_type_empties_it(stocked: Graph, tools: Any) -> None:
    result = stocked.load([], mode="overwrite", type="Knows")
    assert (result.to_json()["edges"], result.deleted) == (
        [{"name": "Knows", "entities_loaded": 0}],
        1,
    )
    assert tools.content(stocked, "Knows") == []
    assert stocked.load(b"name,age\n", mode="merge", type="Person", format="csv").commit is None


def test_an_input_of_nothing_changes_nothing(stocked: Graph, tools: Any) -> None:
    before = tools.content(stocked)
    for mode in ("append", "merge", "overwrite"):
        empty: list[Any] = [b"", b"\n\n", b"[]", []]
        for nothing in empty:
            assert stocked.load(nothing, mode=mode).commit is None
    assert tools.content(stocked) == before


def test_deletions_take_edges_along(stocked: Graph, tools: Any) -> None:
    result = stocked.load([{"delete": "Person", "id": "a"}], mode="merge")
    assert (result.deleted, result.total_entities) == (3, 0)
    assert tools.names(stocked) == ["b"]
    assert tools.content(stocked, "Knows", "Owns") == []
    assert result.commit is not None
    assert (result.commit.counts.nodes_deleted, result.commit.counts.edges_deleted) == (1, 2)


def test_what_does_not_exist_is_deleted_without_effect(stocked: Graph) -> None:
    result = stocked.load([{"delete": "Person", "id": "nobody"}], mode="merge")
    assert (result.deleted, result.commit) == (0, None)


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_deletions_need_mode_merge(stocked: Graph, tools: Any, mode: str) -> None:
    error = tools.refused(stocked, [{"delete": "Person", "id": "a"}], mode)
    assert error.details["counts"] == {"delete": 1}


def test_the_later_of_a_deletion_and_a_record_counts(stocked: Graph, tools: Any) -> None:
    gone, again = {"delete": "Note", "id": "y"}, {"type": "Note", "id": "y", "data": {"text": "n"}}
    result = stocked.load([gone, again], mode="merge")
    assert (result.superseded, result.deleted, result.total_entities) == (1, 0, 1)
    result = stocked.load([again, gone, gone], mode="merge")
    assert (result.superseded, result.deleted, result.total_entities) == (2, 1, 0)
    assert [row["id"] for row in tools.content(stocked, "Note")] == ["x"]


def test_a_node_that_is_deleted_and_described_again_keeps_its_edges(
    stocked: Graph, tools: Any
) -> None:
    before = tools.content(stocked, "Knows", "Owns")
    again = {"type": "Person", "data": {"name": "a"}}
    result = stocked.load([{"delete": "Person", "id": "a"}, again], mode="merge")
    assert result.deleted == 0
    assert tools.content(stocked, "Knows", "Owns") == before


def test_an_edge_that_is_written_anew_outlives_the_node_that_it_left(
    stocked: Graph, tools: Any
) -> None:
    moved = {"edge": "Knows", "id": "k", "from": "b", "to": "b"}
    stocked.load([{"delete": "Person", "id": "a"}, moved], mode="merge")
    assert tools.content(stocked, "Knows") == [{**moved, "data": {"since": None}}]


def test_an_edge_to_a_node_that_goes_is_a_violation(stocked: Graph, tools: Any) -> None:
    batch = [{"delete": "Person", "id": "a"}, {"edge": "Knows", "from": "a", "to": "b"}]
    assert tools.refused(stocked, batch, "merge").details["counts"] == {"endpoint": 1}


def test_an_unknown_mode_is_named(graph: Graph, tools: Any) -> None:
    error = tools.refused(graph, [], "replace")
    assert (error.code, error.remedy) == ("load.bad_mode", "one of: append, merge, overwrite")
