"""What is exported can be loaded again, and gives the same graph."""

from __future__ import annotations

import importlib
import io
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph.errors import GraphError, InvalidInput, NotFound
from omnigraph.graph.open import init_graph

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.graph.at import EmbeddedGraphAt
    from omnigraph.graph.facade import EmbeddedGraph

SCHEMA = """
node Person {
    name: String @key
    age: I32?
    big: I64?
    huge: U64?
    half: F32?
    whole: F64?
    fine: Bool?
    born: Date?
    seen: DateTime?
    tags: [String]?
    days: [Date]?
    vec: Vector(3)?
    pic: Blob?
    mood: enum(glad, sad)?
    city: String? @default("Bonn")
}
node Note { text: String? }
node Pair { a: String
    b: I64
    @key(a, b) }
edge Knows: Person -> Person { since: Date? }
edge Owns: Person -> Note { share: F64?
    @key(src, dst) }
edge Links: Note -> Pair
"""
RECORDS: list[dict[str, Any]] = [
    {
        "type": "Person",
        "data": {
            "name": 'a "quoted" \\ name\n\t\u0001 é 😀',
            "age": -3,
            "big": -(2**63),
            "huge": 2**64 - 1,
            "half": 0.1,
            "whole": 5e-324,
            "fine": False,
            "born": "0001-01-01",
            "seen": "1969-12-31T23:59:59.999999Z",
            "tags": ["", 'x"y', "é"],
            "days": ["2020-01-01"],
            "vec": [0.1, -0.0, 3e38],
            "pic": "base64:AAEC",
            "mood": "sad",
            "city": None,
        },
    },
    {"type": "Person", "data": {"name": "", "tags": [], "whole": -0.0, "pic": "base64:"}},
    {"type": "Person", "data": {"name": "plain", "whole": 1e22, "city": ""}},
    {"type": "Note", "id": "n1", "data": {"text": "first"}},
    {"type": "Note", "data": {}},
    {"type": "Pair", "data": {"a": 'x","y', "b": 7}},
    {"edge": "Knows", "from": "plain", "to": "", "data": {"since": "2020-01-01"}},
    {"edge": "Knows", "id": "k", "from": "", "to": "plain"},
    {"edge": "Owns", "from": "plain", "to": "n1", "data": {"share": 0.25}},
    {"edge": "Links", "from": "n1", "to": '["x\\",\\"y","7"]'},
]
TYPES = ("Person", "Note", "Pair", "Knows", "Owns", "Links")


@pytest.fixture
def graph(tmp_path: Path) -> EmbeddedGraph:
    graph = init_graph(tmp_path / "g.omni", SCHEMA, durability="process")
    graph.load(RECORDS, mode="append")
    return graph


def rows(graph: EmbeddedGraphAt) -> dict[str, Any]:
    """Every table, ids included."""
    snapshot = graph.engine.snapshot()
    return {
        entity.name: snapshot.table(entity.id).scan().to_pylist()
        for entity in snapshot.catalog.types.values()
    }


def test_json_lines_load_into_the_same_graph(graph: EmbeddedGraph, tmp_path: Path) -> None:
    out = io.BytesIO()
    result = graph.export(out)
    copy = init_graph(tmp_path / "copy.omni", graph.schema, durability="process")
    copy.load(out.getvalue(), mode="append")
    assert repr(rows(copy)) == repr(rows(graph))
    assert result.to_json() == {
        "target": "main",
        "graph_commit_id": graph.status().head,
        "nodes": [
            {"name": "Person", "entities_exported": 3},
            {"name": "Note", "entities_exported": 2},
            {"name": "Pair", "entities_exported": 1},
        ],
        "edges": [
            {"name": "Knows", "entities_exported": 2},
            {"name": "Owns", "entities_exported": 1},
            {"name": "Links", "entities_exported": 1},
        ],
        "total_entities": 10,
    }


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_tables_load_into_the_same_graph(graph: EmbeddedGraph, tmp_path: Path, kind: str) -> None:
    graph.export(tmp_path / "tables", format=kind)
    assert sorted(path.name for path in (tmp_path / "tables").iterdir()) == sorted(
        f"{name}.{kind}" for name in TYPES
    )
    copy = init_graph(tmp_path / "copy.omni", graph.schema, durability="process")
    copy.load({name: tmp_path / "tables" / f"{name}.{kind}" for name in TYPES}, mode="append")
    assert repr(rows(copy)) == repr(rows(graph))


def test_every_line_is_a_json_record(graph: EmbeddedGraph) -> None:
    out = io.BytesIO()
    graph.export(out)
    found = [json.loads(line) for line in out.getvalue().splitlines()]
    assert found[0]["data"]["name"] == RECORDS[0]["data"]["name"]
    assert [next(iter(record)) for record in found] == ["type"] * 6 + ["edge"] * 4


def test_some_types_of_some_target(graph: EmbeddedGraph, tmp_path: Path) -> None:
    graph.branches.create("dev")
    graph.load([{"type": "Note", "id": "n2"}], mode="append", branch="dev")
    path = tmp_path / "notes.jsonl"
    result = graph.at("dev").export(path, types=["Note", "knows"])
    assert (result.total_nodes, result.total_edges) == (3, 2)
    assert len(path.read_bytes().splitlines()) == 5
    assert graph.export(io.BytesIO(), types=["Note"]).total_nodes == 2


def test_one_table_is_one_file(graph: EmbeddedGraph, tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    graph.export(path, format="parquet", types=["Person"])
    assert pq.read_schema(path).names[:2] == ["name", "age"]
    out = io.BytesIO()
    graph.export(out, format="arrow", types=["Knows"])
    assert pa.ipc.open_file(out.getvalue()).read_all().column_names == ["id", "from", "to", "since"]
    assert not out.closed
    graph.export(tmp_path, format="csv", types=["Note"])
    assert (tmp_path / "Note.csv").read_text().startswith('"id","text"\n"n1","first"\n')


def test_an_empty_graph_exports_empty_tables(tmp_path: Path) -> None:
    graph = init_graph(tmp_path / "empty.omni", SCHEMA, durability="process")
    out = io.BytesIO()
    assert graph.export(out).to_json()["total_entities"] == 0
    assert out.getvalue() == b""
    for kind in ("csv", "parquet", "arrow"):
        graph.export(tmp_path / kind, format=kind)
        copy = init_graph(tmp_path / f"{kind}.omni", SCHEMA, durability="process")
        files = {name: tmp_path / kind / f"{name}.{kind}" for name in TYPES}
        assert copy.load(files, mode="append").commit is None


def test_what_cannot_be_exported_is_said(graph: EmbeddedGraph, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="not a format"):
        graph.export(io.BytesIO(), format="xml")
    with pytest.raises(NotFound, match="no type 'Persn'") as caught:
        graph.export(io.BytesIO(), types=["Persn"])
    assert caught.value.remedy == "did you mean `Person`?"
    with pytest.raises(InvalidInput, match="can contain only one type"):
        graph.export(io.BytesIO(), format="csv")
    with pytest.raises(InvalidInput, match="cannot be written"):
        graph.export(tmp_path / "nowhere" / "out.jsonl")
    (tmp_path / "occupied").write_bytes(b"")
    with pytest.raises(InvalidInput, match="is a file, and a csv file can contain only one type"):
        graph.export(tmp_path / "occupied", format="csv")
    with pytest.raises(InvalidInput, match="cannot be written"):
        graph.export(tmp_path / "occupied" / "below", format="csv")


def test_a_file_appears_when_it_is_complete(
    graph: EmbeddedGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module("omnigraph.export.export")

    def fail(*_: Any) -> bytes:
        raise GraphError("storage.injected", "as ordered")

    path = tmp_path / "out.jsonl"
    path.write_text("old")
    monkeypatch.setattr(module, "json_lines", fail)
    with pytest.raises(GraphError):
        graph.export(path)
    assert [found.name for found in tmp_path.glob("out*")] == ["out.jsonl"]
    assert path.read_text() == "old"
