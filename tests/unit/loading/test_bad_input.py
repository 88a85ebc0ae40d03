"""Everything that can be wrong with an input: named by record and line, and nothing changes."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from omnigraph.errors import InvalidInput, LimitExceeded
from omnigraph.testing.kit import FAST

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from omnigraph.api.graph import Graph

GOOD = {"type": "Person", "data": {"name": "ann"}}
TYPES = """
node T {
    key: String @key
    a: I32?
    b: I64?
    c: U32?
    d: U64?
    e: F32?
    f: F64?
    g: Bool?
    h: Date?
    i: DateTime?
    j: Blob?
    k: enum(x, y)?
    l: [I32]?
    m: Vector(2)?
    n: String?
}
"""


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        (b'{"type": "Nobody", "data": {}}', "unknown_type"),
        (b'{"edge": "Nothing", "from": "a", "to": "b"}', "unknown_type"),
        (b'{"type": "Knows", "data": {}}', "unknown_type"),
        (b'{"edge": "Person", "from": "a", "to": "b"}', "unknown_type"),
        (b'{"type": "Person", "data": {"name": "x", "agee": 1}}', "unknown_property"),
        (b'{"type": "Person", "data": {"name": "x", "since": null}}', "unknown_property"),
        (b'{"type": "Person", "data": {"name": 1}}', "type"),
        (b'{"type": "Person", "data": {"name": "x", "age": 2147483648}}', "type"),
        (b'{"type": "Person", "data": {"name": "x", "age": NaN}}', "json"),
        (b'{"type": "Person", "data": {"age": 1}}', "required"),
        (b'{"type": "Person", "data": {"name": "x", "city": null}}', "required"),
        (b'{"type": "Person", "data": {"name": "x"}, "id": "y"}', "id"),
        (b'{"type": "Note", "id": "a", "data": {"text": "t", "id": "b"}}', "id"),
        (b'{"edge": "Knows", "from": "ann", "to": "ann", "data": {"since": "2020-02-30"}}', "type"),
        (b'{"edge": "Knows", "from": "ann", "to": "nobody"}', "endpoint"),
        (b'{"edge": "Knows", "from": "ann"}', "envelope"),
        (b'{"edge": "Knows", "from": "ann", "to": null}', "envelope"),
        (b'{"edge": "Knows", "from": ["ann"], "to": "ann"}', "type"),
        (b'{"type": "Person", "edge": "Knows"}', "envelope"),
        (b'{"type": "Person", "data": {"name": "x"}, "from": "a"}', "envelope"),
        (b'{"type": "Person", "data": ["name"]}', "envelope"),
        (b'{"type": 7}', "envelope"),
        (b'{"name": "x"}', "envelope"),
        (b"{}", "envelope"),
        (b"[]", "envelope"),
        (b"null", "envelope"),
        (b"17", "envelope"),
        (b'"Person"', "envelope"),
        (b'{"delete": "Person"}', "envelope"),
        (b'{"type": "Person", "data": {"name": "x", "name": "y"}}', "json"),
        (b'{"type": "Person", "data": {"name": "x"}', "json"),
        (b'{"type": "Person", "data": {"name": "x"}}}', "json"),
        (b'{"type": "Person", "data": {"name": "x"}},', "json"),
        (b"{'type': 'Person'}", "json"),
        (b"name,age", "json"),
        (b'{"type": "Person", "data": {"name": "\xff"}}', "encoding"),
        (b'{"type": "Person", "data": {"name": "\\ud800"}}', "type"),
        (b'{"type": "Note", "data": {"text": ' + b"[" * 10_000 + b"]" * 10_000 + b"}}", "json"),
    ],
)
def test_a_bad_record_is_named_by_number_line_and_rule(
    graph: Graph, tools: Any, line: bytes, rule: str
) -> None:
    data = tools.lines(GOOD, "", line, {"type": "Person", "data": {"name": "ben"}})
    error = tools.refused(graph, data)
    found = error.details["violations"]
    where = [(item["rule"], item["record"], item["line"]) for item in found]
    # Garbage behind a record is a record of its own.
    assert (rule, 2, 3) in where or (rule, 3, 3) in where
    assert error.code == f"data.{found[0]['rule']}"
    assert error.remedy


@pytest.mark.parametrize(
    ("prop", "value"),
    [
        ("a", 2**31),
        ("a", "1"),
        ("a", 1.5),
        ("a", True),
        ("b", 2**63),
        ("b", "1.0"),
        ("b", "9" * 25),
        ("c", -1),
        ("d", 2**64),
        ("d", -1),
        ("e", 1e39),
        ("e", "1"),
        ("f", "x"),
        ("f", [1.0]),
        ("f", 10**400),
        ("g", 1),
        ("g", "true"),
        ("h", "2020-02-30"),
        ("h", "2020-1-1"),
        ("h", "0000-01-01"),
        ("h", "2020-01-01T00:00:00Z"),
        ("h", 20200101),
        ("i", "2020-01-01"),
        ("i", "2020-01-01T25:00:00Z"),
        ("i", "2020-01-01T00:00:00+25:00"),
        ("i", "9999-12-31T23:59:59-01:00"),
        ("i", 0),
        ("j", "hello"),
        ("j", "base64:?"),
        ("k", 5),
        ("l", [1, "2"]),
        ("l", 1),
        ("l", [[1]]),
        ("m", [1]),
        ("m", [1, 2, 3]),
        ("m", [1, None]),
        ("m", [1, 1e39]),
        ("m", {"x": 1}),
        ("n", 5),
        ("n", {}),
    ],
)
def test_a_value_that_does_not_fit_its_type_is_named(
    make_graph: Callable[..., Graph], tools: Any, prop: str, value: Any
) -> None:
    graph = make_graph(TYPES)
    good = {"type": "T", "data": {"key": "k"}}
    bad = {"type": "T", "data": {"key": "l", prop: value}}
    error = tools.refused(graph, tools.lines(good, good | {"data": {"key": "m"}}, bad))
    assert tools.violations(error) == [("type", 3, 3, prop)]


def test_rules_of_the_schema_are_told_with_record_and_line(
    make_graph: Callable[..., Graph], tools: Any
) -> None:
    graph = make_graph(TYPES)
    data = tools.lines(
        {"type": "T", "data": {"key": "1"}},
        {"type": "T", "data": {"key": "2", "k": "z"}},
        {"type": "T", "data": {"key": "3", "l": [1, None]}},
        {"type": "T", "data": {"key": "4", "m": [0, 0]}},
    )
    assert tools.violations(tools.refused(graph, data)) == [
        ("enum", 2, 2, "k"),
        ("list", 3, 3, "l"),
        ("vector", 4, 4, "m"),
    ]


def test_all_that_is_wrong_is_told_in_the_order_of_the_records(graph: Graph, tools: Any) -> None:
    data = tools.lines(
        {"type": "Persn", "data": {}},
        tools.person("a", age="x", height=1),
        "{",
        tools.person("b", mail="m"),
        tools.person("c", mail="m"),
        tools.person("b"),
    )
    assert tools.violations(tools.refused(graph, data)) == [
        ("unknown_type", 1, 1, None),
        ("type", 2, 2, "age"),
        ("unknown_property", 2, 2, "height"),
        ("json", 3, 3, None),
        ("key", 4, 4, None),
    ]


def test_a_missing_end_is_not_told_while_records_are_unreadable(graph: Graph, tools: Any) -> None:
    data = tools.lines("{", tools.knows("a", "b"))
    assert tools.violations(tools.refused(graph, data)) == [("json", 1, 1, None)]


def test_violations_beyond_the_limit_are_counted(graph: Graph, tools: Any) -> None:
    error = tools.refused(graph, tools.lines(*(["x"] + [tools.person("p", age="x")] * 500)))
    assert error.details["total"] == 501
    assert len(error.details["violations"]) == 100


def test_a_record_far_behind_has_its_number_and_line(
    make_graph: Callable[..., Graph], tools: Any
) -> None:
    graph = make_graph(limits=replace(FAST, load_block_bytes=2_000))
    records = [tools.person(f"p{n}") for n in range(5_000)]
    records[3_141] = {"type": "Nobody"}
    records[4_711] = tools.person("p4711", age="old")
    assert tools.violations(tools.refused(graph, tools.lines(*records))) == [
        ("unknown_type", 3_142, 3_142, None),
        ("type", 4_712, 4_712, "age"),
    ]


def test_lines_are_those_of_the_file_when_records_span_several(graph: Graph, tools: Any) -> None:
    pretty = json.dumps(tools.person("a"), indent=2)
    data = tools.lines(pretty, "", json.dumps(tools.person("b", age="x"), indent=2))
    assert tools.violations(tools.refused(graph, data)) == [("type", 2, 8, "age")]


@pytest.mark.parametrize("pack", ["gzip", "zstd"])
@pytest.mark.parametrize("damage", ["cut", "half", "garbage"])
def test_a_damaged_stream_is_told_and_nothing_of_it_is_kept(
    graph: Graph, tools: Any, pack: str, damage: str
) -> None:
    plain = tools.lines(*(tools.person(f"p{n}") for n in range(2_000)))
    packed = gzip.compress(plain) if pack == "gzip" else pa.compress(plain, pack, asbytes=True)
    broken = {
        "cut": packed[:-3],
        "half": packed[: len(packed) // 2],
        "garbage": packed + b"garbage",
    }[damage]
    error = tools.refused(graph, broken)
    assert isinstance(error, InvalidInput)
    assert error.code == "load.corrupt"
    assert error.details["record"] >= 1


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_of_a_damaged_gzip_every_record_before_the_damage_is_counted(
    graph: Graph, tools: Any, damage: str
) -> None:
    """Also where the file is shorter than what is read at once."""
    head = tools.lines(*(tools.person(f"p{n}") for n in range(500)))
    tail = gzip.compress(tools.lines(tools.person("last")))
    damaged = tail[:4] if damage == "cut" else tail[:10] + b"\xff" + tail[11:]
    error = tools.refused(graph, gzip.compress(head) + damaged)
    assert error.details["record"] == 501
    assert "after record 500" in error.message


def test_a_record_of_100_mb_is_refused_before_it_is_read_whole(graph: Graph, tools: Any) -> None:
    class Endless:
        """A file whose second line goes on for 100 MB; counts what was asked for."""

        def __init__(self) -> None:
            self.head: bytes = tools.lines(GOOD) + b'{"type": "Person", "data": {"name": "'
            self.read_bytes = 0

        def read(self, size: int) -> bytes:
            found, self.head = self.head[:size], self.head[size:]
            found += b"x" * (size - len(found)) if self.read_bytes < 100 * 2**20 else b""
            self.read_bytes += len(found)
            return found

    endless = Endless()
    error = tools.refused(graph, endless)
    assert isinstance(error, LimitExceeded)
    assert error.code == "load.record_too_large"
    assert (error.details["record"], error.details["line"]) == (2, 2)
    assert error.details["resource_limit"] == {"name": "record_bytes", "limit": 32 * 2**20}
    assert endless.read_bytes < 50 * 2**20


def test_a_record_that_never_ends_is_refused_over_many_lines_too(
    make_graph: Callable[..., Graph], tools: Any
) -> None:
    graph = make_graph(limits=replace(FAST, load_record_bytes_max=10_000, load_block_bytes=1_000))
    data = tools.lines(GOOD, '{"type": "Person", "data": {', *(['"name":'] + ["\n"] * 30_000))
    error = tools.refused(graph, data)
    assert error.code == "load.record_too_large"
    assert (error.details["record"], error.details["line"]) == (2, 2)


def test_an_input_larger_than_memory_allows_says_what_to_do(
    make_graph: Callable[..., Graph], tools: Any
) -> None:
    graph = make_graph(limits=replace(FAST, load_bytes_max=20_000, load_block_bytes=1_000))
    data = tools.lines(*(tools.person(f"p{n}") for n in range(5_000)))
    table = pa.table({"name": [f"p{n}" for n in range(5_000)]})
    for source, type_name in ((data, None), (table, "Person")):
        error = tools.refused(graph, source, type=type_name)
        assert isinstance(error, LimitExceeded)
        assert error.code == "load.too_large"
        assert "spark" in (error.remedy or "").lower()
        assert "chunk" in (error.remedy or "")


def test_a_file_that_is_not_there_is_named(graph: Graph, tools: Any, tmp_path: Path) -> None:
    error = tools.refused(graph, tmp_path / "nowhere.jsonl")
    assert error.code == "file.unreadable"
    assert "nowhere.jsonl" in error.message
    assert tools.refused(graph, tmp_path).code == "file.unreadable"


def test_what_cannot_be_loaded_at_all_is_said(graph: Graph, tools: Any) -> None:
    assert tools.refused(graph, 5).code == "load.bad_source"
    assert tools.refused(graph, b"", format="xml").code == "load.bad_format"
    assert tools.refused(graph, b"", type="Persn").code == "load.unknown_type"
    assert "Person" in (tools.refused(graph, b"", type="Persn").remedy or "")


def test_the_failing_callback_of_progress_stops_the_load(graph: Graph, tools: Any) -> None:
    def stop(_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        graph.load(tools.lines(GOOD), mode="append", progress=stop)
    assert tools.content(graph) == []
