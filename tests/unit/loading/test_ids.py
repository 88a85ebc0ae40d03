"""Ids: spelled from keys, given, or fresh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from omnigraph.loading.identity import canonical_id, generate_ids, key_texts
from omnigraph.runtime.ids import is_ulid
from omnigraph.testing.kit import catalog_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.graph.facade import EmbeddedGraph


def ids(graph: EmbeddedGraph, type_name: str) -> list[str]:
    engine = graph.engine
    entity = engine.snapshot().catalog.entity(type_name)
    assert entity is not None
    found: list[str] = engine.snapshot().table(entity.id).scan(["id"]).column("id").to_pylist()
    return found


@pytest.mark.parametrize(
    ("declared", "value", "spelling", "same", "other"),
    [
        ("String", "a b", "a b", ["a b"], ["a  b", "A b"]),
        ("I64", 17, "17", ["17", 17, 17.0], ["18", "x", True, 17.5]),
        ("I32", -3, "-3", ["-3", -3], ["3"]),
        ("U64", 2**64 - 1, str(2**64 - 1), [str(2**64 - 1)], ["1"]),
        ("F64", 1.0, "1", ["1", "1.0", "1e0"], ["1.1", "x"]),
        ("Bool", True, "true", ["true"], ["false", "True", 1]),
        ("Date", "2020-01-01", "2020-01-01", ["2020-01-01"], ["2020-01-02", "2020-1-1"]),
        (
            "DateTime",
            "2020-01-01T12:00:00+01:00",
            "2020-01-01T11:00:00Z",
            ["2020-01-01T11:00:00Z", "2020-01-01T12:00:00+01:00", "2020-01-01 11:00:00.000"],
            ["2020-01-01T12:00:00Z", "x"],
        ),
        ("enum(x, y)", "x", "x", ["x"], ["y", "z"]),
    ],
)
def test_a_given_id_must_mean_the_same_as_the_key(
    make_graph: Callable[..., EmbeddedGraph],
    tools: Any,
    *,
    declared: str,
    value: Any,
    spelling: str,
    same: list[Any],
    other: list[Any],
) -> None:
    graph = make_graph(f"node T {{ key: {declared} @key\n more: I32? }}")
    record = {"type": "T", "data": {"key": value}}
    graph.load(tools.lines(record), mode="append")
    assert ids(graph, "T") == [spelling]
    for given in same:
        graph.load(tools.lines({**record, "id": given}), mode="merge")
    assert ids(graph, "T") == [spelling]
    for given in other:
        error = tools.refused(graph, tools.lines({**record, "id": given}), "merge")
        assert tools.violations(error) == [("id", 1, 1, "id")]


def test_a_composite_key_is_spelled_as_an_array(
    make_graph: Callable[..., EmbeddedGraph], tools: Any
) -> None:
    graph = make_graph("node T { a: String\n b: I64\n c: Date\n @key(a, b, c) }")
    rows = [
        {"a": "x", "b": 1, "c": "2020-01-01"},
        {"a": 'q"\\\n', "b": -1, "c": "2020-01-01"},
        {"a": "é,", "b": 2**40, "c": "0001-01-01"},
    ]
    graph.load(tools.lines(*rows), mode="append", type="T")
    assert ids(graph, "T") == [
        '["x","1","2020-01-01"]',
        '["q\\"\\\\\\n","-1","2020-01-01"]',
        '["é,","1099511627776","0001-01-01"]',
    ]
    same = {**rows[0], "id": '[ "x", 1, "2020-01-01" ]'}
    assert graph.load(tools.lines(same), mode="merge", type="T").total_entities == 1
    wrong = {**rows[0], "id": '["x","2","2020-01-01"]'}
    assert tools.refused(graph, tools.lines(wrong), "merge", type="T").code == "data.id"


def test_keyless_entities_keep_a_given_id_or_get_a_fresh_one(
    graph: EmbeddedGraph, tools: Any
) -> None:
    data = tools.lines(
        {"type": "Note", "id": "mine", "data": {"text": "a"}},
        {"type": "Note", "data": {"text": "b"}},
        {"type": "Note", "data": {"text": "c", "id": "inner"}},
        {"type": "Note", "id": 7, "data": {"text": "d"}},
    )
    graph.load(data, mode="append")
    found = ids(graph, "Note")
    assert [found[0], found[2], found[3]] == ["mine", "inner", "7"]
    assert is_ulid(found[1])


def test_fresh_ids_are_distinct_and_sorted() -> None:
    found = generate_ids(10_000).to_pylist()
    assert found == sorted(set(found))
    assert all(map(is_ulid, found))
    assert generate_ids(0).to_pylist() == []


def test_columns_are_spelled_like_single_keys() -> None:
    assert key_texts(pa.array([1, None, -5])).to_pylist() == ["1", None, "-5"]
    assert key_texts(pa.array([1.0, 0.1, -0.0])).to_pylist() == ["1", "0.1", "0"]
    assert key_texts(pa.array([True, False])).to_pylist() == ["true", "false"]


def test_ends_of_edges_may_be_numbers(make_graph: Callable[..., EmbeddedGraph], tools: Any) -> None:
    graph = make_graph("node N { key: I64 @key }\nedge E: N -> N")
    nodes = [{"type": "N", "data": {"key": n}} for n in range(3)]
    edges = [{"edge": "E", "from": 0, "to": 1}, {"edge": "E", "from": 1, "to": 2}]
    graph.load(tools.lines(*nodes, *edges), mode="append")
    graph.load(tools.lines({"edge": "E", "from": "2", "to": 0}), mode="append")
    graph.load(pa.table({"from": [0], "to": [2]}), mode="append", type="E")
    found = [(edge["from"], edge["to"]) for edge in tools.content(graph, "E")]
    assert found == [("0", "1"), ("1", "2"), ("2", "0"), ("0", "2")]


def test_nothing_but_a_key_has_a_canonical_id() -> None:
    entity = catalog_of("node T { key: I64 @key }").node("T")
    assert entity is not None
    wrongs: list[Any] = [None, [], {}, "", "x", "1.5", "[1]", "\ud800", 10**30]
    for wrong in wrongs:
        assert canonical_id(entity, wrong) is None
