"""How records may be written, and where they may come from."""

from __future__ import annotations

import gzip
import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.changeset.rows import stored_properties, to_arrow
from omnigraph.loading.batches import cut_batches
from omnigraph.testing.kit import FAST

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from omnigraph.api.writes import Progress
    from omnigraph.graph.facade import EmbeddedGraph

RECORDS = [
    {"type": "Person", "data": {"name": "ann", "age": 3}},
    {"type": "Person", "data": {"name": "ben é 😀"}},
    {"edge": "Knows", "from": "ann", "to": "ben é 😀", "data": {"since": "2020-01-01"}},
]


def key_texts(form: str) -> bytes:
    """The records, with nothing between them but what the form says."""
    forms: dict[str, tuple[str, dict[str, Any]]] = {
        "lines": ("\n", {}),
        "lines without escapes": ("\n", {"ensure_ascii": False}),
        "sorted names": ("\n", {"sort_keys": True}),
        "crlf": ("\r\n", {}),
        "blank lines": ("\n \n\n", {}),
        "pretty": ("\n", {"indent": 2}),
        "one line": (" ", {}),
    }
    between, options = forms[form]
    return between.join(json.dumps(record, **options) for record in RECORDS).encode()


FORMS: dict[str, bytes] = {
    **{
        form: key_texts(form)
        for form in ("lines without escapes", "sorted names", "pretty", "one line")
    },
    "lines": key_texts("lines") + b"\n",
    "crlf": key_texts("crlf") + b"\r\n",
    "byte order mark": b"\xef\xbb\xbf" + key_texts("lines"),
    "blank lines": b"\n\n" + key_texts("blank lines"),
    "array": json.dumps(RECORDS).encode(),
    "pretty array": json.dumps(RECORDS, indent=2).encode(),
}
LINES = FORMS["lines"]


def check(graph: EmbeddedGraph, tools: Any) -> None:
    assert tools.names(graph) == ["ann", "ben é 😀"]
    (edge,) = tools.content(graph, "Knows")
    assert (edge["from"], edge["to"]) == ("ann", "ben é 😀")
    assert edge["data"] == {"since": "2020-01-01"}


def test_records_and_files_may_follow_each_other(graph: EmbeddedGraph, tools: Any) -> None:
    file = tools.lines(tools.person("ann", age=2))
    graph.load([tools.person("ann", age=1), file], mode="merge")
    (ann,) = tools.content(graph, "Person")
    assert ann["data"]["age"] == 2


def test_a_type_is_named_by_a_text(graph: EmbeddedGraph, tools: Any) -> None:
    error = tools.refused(graph, {7: pa.table({"name": ["ann"]})})
    assert error.code == "load.unknown_type"


def test_rows_in_several_pieces_all_keep_their_records(graph: EmbeddedGraph) -> None:
    # What an array of texts cannot hold, Arrow gives in several.
    entity = graph.engine.snapshot().catalog.entity("Note")
    assert entity is not None
    rows = pa.concat_tables(
        to_arrow(entity, [{prop.id: text for prop in stored_properties(entity)}]) for text in "abc"
    )
    batches = list(cut_batches(entity, rows, np.array([4, 5, 9]), generated=True))
    assert [batch.records.tolist() for batch in batches] == [[4], [5], [9]]
    assert [batch.rows.column("text").to_pylist() for batch in batches] == [["a"], ["b"], ["c"]]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("pack", ["plain", "gzip", "zstd", "gzip twice"])
def test_records_may_be_written_in_many_ways(
    graph: EmbeddedGraph, tools: Any, form: str, pack: str
) -> None:
    data = FORMS[form]
    if pack == "zstd":
        data = pa.compress(data, "zstd", asbytes=True)
    elif pack == "gzip twice":
        data = gzip.compress(data[:40]) + gzip.compress(data[40:])
    elif pack == "gzip":
        data = gzip.compress(data)
    assert graph.load(data, mode="append").total_entities == 3
    check(graph, tools)


@pytest.mark.parametrize("form", FORMS)
def test_where_blocks_end_makes_no_difference(
    make_graph: Callable[..., EmbeddedGraph], tools: Any, form: str
) -> None:
    graph = make_graph(limits=replace(FAST, load_block_bytes=16))
    assert graph.load(FORMS[form], mode="append").total_entities == 3
    check(graph, tools)


def test_records_may_come_from_paths_files_bytes_and_python(
    make_graph: Callable[..., EmbeddedGraph], tools: Any, tmp_path: Path
) -> None:
    path = tmp_path / "data.txt"
    path.write_bytes(gzip.compress(LINES))
    plain = tmp_path / "plain.jsonl.gz"
    plain.write_bytes(LINES)
    with path.open("rb") as opened:
        for source in (
            path,
            str(path),
            plain,
            opened,
            io.BytesIO(LINES),
            io.StringIO(LINES.decode()),
            bytearray(LINES),
            RECORDS,
            iter(RECORDS),
            (record for record in RECORDS),
        ):
            graph = make_graph()
            graph.load(source, mode="append")
            check(graph, tools)
        assert not opened.closed


def test_a_stream_that_gives_little_at_a_time_is_read_to_its_end(
    graph: EmbeddedGraph, tools: Any
) -> None:
    class Drip:
        def __init__(self) -> None:
            self.data = gzip.compress(LINES)

        def read(self, size: int) -> bytes:
            size = min(size, 3)
            found, self.data = self.data[:size], self.data[size:]
            return found

    graph.load(Drip(), mode="append")
    check(graph, tools)


def test_several_files_are_one_input(graph: EmbeddedGraph, tools: Any, tmp_path: Path) -> None:
    for number, record in enumerate([RECORDS[2], RECORDS[0], RECORDS[1]]):
        (tmp_path / f"{number}.jsonl").write_bytes(tools.lines(record))
    result = graph.load(sorted(tmp_path.glob("*.jsonl")), mode="append")
    assert result.total_entities == 3
    check(graph, tools)
    (tmp_path / "3.jsonl").write_bytes(tools.lines("", "{}"))
    error = tools.refused(graph, sorted(tmp_path.glob("*.jsonl")), "merge")
    (found,) = error.details["violations"]
    assert (found["record"], found["line"]) == (4, 2)
    assert found["file"].endswith("3.jsonl")


def test_records_of_one_named_type_need_no_envelope(graph: EmbeddedGraph, tools: Any) -> None:
    people = tools.lines({"name": "ann", "age": 1}, {"name": "ben"})
    assert graph.load(people, mode="append", type="Person").total_nodes == 2
    edges = tools.lines({"from": "ann", "to": "ben", "id": "k"}, {"from": "ben", "to": "ann"})
    assert graph.load(edges, mode="append", type="Knows").total_edges == 2
    other = tools.lines({"src": "ann", "dst": "ann", "since": "2020-01-01"})
    assert graph.load(other, mode="append", type="knows").total_edges == 1
    wrong = tools.lines({"from": "ann", "src": "ann", "to": "ben"}, {"from": "ann", "to": "b"})
    error = tools.refused(graph, wrong, type="Knows")
    assert tools.violations(error) == [("envelope", 1, 1, None)]


def test_python_values_are_taken_as_they_are(
    make_graph: Callable[..., EmbeddedGraph], tools: Any
) -> None:
    import datetime as dt  # noqa: PLC0415 - only this test has dates of its own

    graph = make_graph("node T { key: I64 @key\n on: Date?\n at: DateTime?\n raw: Blob? }")
    at = dt.datetime(2020, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1)))
    data = {"key": 7, "on": dt.date(2020, 1, 2), "at": at, "raw": b"hello"}
    graph.load([{"type": "T", "data": data}], mode="append")
    assert tools.content(graph) == [
        {
            "type": "T",
            "data": {
                "key": 7,
                "on": "2020-01-02",
                "at": "2019-12-31T23:00:00.000000Z",
                "raw": "base64:aGVsbG8=",
            },
        }
    ]


def test_progress_is_told_as_records_are_read(
    make_graph: Callable[..., EmbeddedGraph], tools: Any
) -> None:
    graph = make_graph(limits=replace(FAST, load_block_bytes=1_000))
    data = tools.lines(*(tools.person(f"p{n}") for n in range(500)))
    told: list[Progress] = []
    graph.load(data, mode="append", progress=told.append)
    assert len(told) > 5
    assert [each.records for each in told] == sorted(each.records for each in told)
    assert (told[-1].records, told[-1].bytes) == (500, len(data))


def test_defaults_fill_what_was_left_out_and_null_is_null(
    make_graph: Callable[..., EmbeddedGraph], tools: Any
) -> None:
    schema = """
node T {
    key: String @key
    a: String? @default("x")
    b: I32? @default(7)
    c: Bool? @default(true)
    d: F64? @default(0.5)
    e: enum(p, q)? @default(q)
}
"""
    graph = make_graph(schema)
    names = [*"abcde"]
    graph.load(tools.lines({"type": "T", "data": {"key": "1"}}), mode="append")
    null = {"type": "T", "data": {"key": "2", **dict.fromkeys(names)}}
    mixed = {"type": "T", "data": {"key": "3", "b": None}}
    graph.load(tools.lines(null, mixed), mode="append")
    filled = {"a": "x", "b": 7, "c": True, "d": 0.5, "e": "q"}
    found = {row["data"].pop("key"): row["data"] for row in tools.content(graph)}
    assert found == {"1": filled, "2": dict.fromkeys(names), "3": {**filled, "b": None}}


def test_arrays_of_numpy_are_lists(make_graph: Callable[..., EmbeddedGraph], tools: Any) -> None:
    graph = make_graph("node T { k: String @key  v: Vector(2)?  l: [I32]? }")
    records = [{"k": "a", "v": np.array([1.0, 2.0]), "l": np.array([1, 2])}]
    graph.load(records, mode="append", type="T")
    query = 'query q($v: Vector(2)) { insert T { k: "b", v: $v } }'
    graph.mutate(query, {"v": np.array([3.0, 4.0], np.float32)})
    found = {record["data"]["k"]: record["data"] for record in tools.content(graph)}
    assert (found["a"]["v"], found["a"]["l"], found["b"]["v"]) == ([1, 2], [1, 2], [3, 4])
