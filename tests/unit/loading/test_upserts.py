"""Loads with mode ``merge`` set what they name: the same for every kind of input."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph.errors import KeyConflict, ValidationFailure
from omnigraph.runtime import faults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from omnigraph.api.graph import Graph

SCHEMA = """
node Person {
    name: String @key
    mail: String @unique
    age: I32?
    city: String @default("Bonn")
    tags: [String]?
    vec: Vector(2)?
    photo: Blob?
}
node Note { text: String?
    size: I32? @default(3) }
edge Owns: Person -> Note { share: F64?
    since: I32? @default(1)
    @key(src, dst) }
"""
ADA = {
    "name": "ada",
    "mail": "a@x",
    "age": 36,
    "city": "Rom",
    "tags": ["x", "y"],
    "vec": [1.0, 2.0],
    "photo": "base64:AAEC",
}
TYPES = {"name": pa.string(), "mail": pa.string(), "age": pa.int32(), "city": pa.string()}


@pytest.fixture
def graph(make_graph: Callable[..., Graph]) -> Iterator[Graph]:
    graph = make_graph(SCHEMA)
    graph.load(
        [
            {"type": "Person", "data": ADA},
            {"type": "Note", "id": "n", "data": {"text": "t", "size": 9}},
            {"edge": "Owns", "from": "ada", "to": "n", "data": {"share": 0.5, "since": 7}},
        ],
        mode="append",
    )
    yield graph
    faults.clear()


def stored(graph: Graph, type_name: str = "Person") -> list[dict[str, Any]]:
    out = io.BytesIO()
    graph.export(out, types=[type_name])
    return [json.loads(line)["data"] for line in out.getvalue().splitlines()]


# --- kinds of input, from rows that all have the same names --------------------------------------


def as_lines(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps({"type": "Person", "data": row}).encode() + b"\n" for row in rows)


def as_array(rows: list[dict[str, Any]]) -> bytes:
    return json.dumps([{"type": "Person", "data": row} for row in rows], indent=1).encode()


def as_records(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "Person", "data": row} for row in rows]


def as_csv(rows: list[dict[str, Any]]) -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def as_table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows], TYPES[name]) for name in rows[0]})


def as_parquet(rows: list[dict[str, Any]]) -> bytes:
    out = io.BytesIO()
    pq.write_table(as_table(rows), out)
    return out.getvalue()


def as_arrow(rows: list[dict[str, Any]]) -> bytes:
    out = io.BytesIO()
    table = as_table(rows)
    with pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


INPUTS: dict[str, tuple[Callable[[list[dict[str, Any]]], Any], dict[str, Any]]] = {
    "ndjson": (as_lines, {}),
    "json array": (as_array, {}),
    "records": (as_records, {}),
    "flat records": (lambda rows: rows, {"type": "Person"}),
    "csv": (as_csv, {"type": "Person", "format": "csv"}),
    "parquet": (as_parquet, {"type": "Person"}),
    "arrow": (as_arrow, {"type": "Person"}),
    "arrow table": (as_table, {"type": "Person"}),
    "pandas": (pd.DataFrame, {"type": "Person"}),
    "polars": (pl.DataFrame, {"type": "Person"}),
}


def load(graph: Graph, kind: str, rows: list[dict[str, Any]], mode: str = "merge") -> Any:
    make, options = INPUTS[kind]
    return graph.load(make(rows), mode=mode, **options)


@pytest.mark.parametrize("kind", INPUTS)
def test_absent_keeps_null_clears_and_defaults_are_for_new_rows(graph: Graph, kind: str) -> None:
    rows: list[dict[str, Any]] = [
        {"name": "ada", "mail": "a@x", "age": None},
        {"name": "bob", "mail": "b@x", "age": 7},
    ]
    load(graph, kind, rows)
    nothing = {"tags": None, "vec": None, "photo": None}
    bob = {"name": "bob", "mail": "b@x", "age": 7, "city": "Bonn", **nothing}
    assert stored(graph) == [{**ADA, "age": None}, bob]


@pytest.mark.parametrize("kind", INPUTS)
def test_required_properties_are_checked_for_new_rows_and_explicit_nulls(
    graph: Graph, kind: str
) -> None:
    load(graph, kind, [{"name": "ada", "age": 40}])
    assert stored(graph)[0]["age"] == 40
    for row in ({"name": "ada", "mail": None}, {"name": "bob", "age": 1}):
        with pytest.raises(ValidationFailure) as found:
            load(graph, kind, [row])
        assert [item["property"] for item in found.value.details["violations"]] == ["mail"]
    assert len(stored(graph)) == 1


@pytest.mark.parametrize("kind", INPUTS)
def test_append_is_strict(graph: Graph, kind: str) -> None:
    with pytest.raises(KeyConflict):
        load(graph, kind, [{"name": "ada", "mail": "z@x", "city": "Ulm"}], "append")
    assert stored(graph) == [ADA]


def test_lines_of_one_block_may_name_different_properties(graph: Graph) -> None:
    others = [{"name": f"p{n}", "mail": f"{n}@x", "age": n} for n in range(3)]
    graph.load(as_records(others), mode="append")
    changes: list[dict[str, Any]] = [
        {"name": "p0", "age": None},
        {"name": "p1", "city": 'Ulm \\u00fc "age": null'},
        {"name": "p2", "city": "Köln", "age": 9},
        {"name": "ada", "tags": None, "vec": [0.5, 0.5]},
    ]
    graph.load(as_lines(changes), mode="merge")
    found = {row["name"]: row for row in stored(graph)}
    assert found["ada"] == {**ADA, "tags": None, "vec": [0.5, 0.5]}
    assert [found[f"p{n}"]["age"] for n in range(3)] == [None, 1, 9]
    assert [found[f"p{n}"]["city"] for n in range(3)] == ["Bonn", changes[1]["city"], "Köln"]


def test_a_name_with_escapes_is_a_name(graph: Graph) -> None:
    graph.load(b'{"type": "Person", "data": {"name": "ada", "\\u0061ge": null}}\n', mode="merge")
    assert stored(graph) == [{**ADA, "age": None}]


def test_edges_and_entities_without_a_key_are_upserted_alike(graph: Graph) -> None:
    graph.load(
        [
            {"type": "Note", "id": "n", "data": {"text": "new"}},
            {"edge": "Owns", "from": "ada", "to": "n", "data": {"share": None}},
        ],
        mode="merge",
    )
    assert stored(graph, "Note") == [{"text": "new", "size": 9}]
    assert stored(graph, "Owns") == [{"share": None, "since": 7}]
    graph.load([{"type": "Note", "data": {"text": "generated"}}], mode="merge")
    assert {"text": "generated", "size": 3} in stored(graph, "Note")


def test_records_about_one_entity_fold_in_the_order_of_the_input(graph: Graph) -> None:
    changes: list[dict[str, Any]] = [
        {"name": "ada", "age": 1},
        {"name": "bob", "age": 2},
        {"name": "ada", "city": "Ulm", "age": None},
        {"name": "bob", "mail": "b@x"},
        {"name": "ada", "tags": ["z"]},
    ]
    result = graph.load(as_lines(changes), mode="merge")
    assert result.superseded == 3
    ada, bob = stored(graph)
    assert ada == {**ADA, "age": None, "city": "Ulm", "tags": ["z"]}
    assert (bob["age"], bob["mail"], bob["city"]) == (2, "b@x", "Bonn")


def test_a_type_with_two_spellings_keeps_the_order_of_its_records(graph: Graph) -> None:
    graph.load(
        b'{"edge": "Owns", "from": "ada", "to": "n", "data": {"share": 0.1}}\n'
        b'{"edge": "owns", "from": "ada", "to": "n", "data": {"share": 0.2}}\n'
        b'{"edge": "Owns", "from": "ada", "to": "n", "data": {"share": 0.3}}\n'
        b'{"edge": "owns", "from": "ada", "to": "n", "data": {"share": 0.4}}\n'
        b'{"edge": "Owns", "from": "ada", "to": "n", "data": {"share": 0.5}}\n',
        mode="merge",
    )
    assert stored(graph, "Owns") == [{"share": 0.5, "since": 7}]


def test_a_record_after_a_deletion_is_a_new_entity(graph: Graph) -> None:
    again = {"type": "Person", "data": {"name": "ada", "mail": "new@x"}}
    before = {"type": "Person", "data": {"name": "ada", "age": 99}}
    graph.load([before, {"delete": "Person", "id": "ada"}, again], mode="merge")
    nothing = {"age": None, "tags": None, "vec": None, "photo": None}
    assert stored(graph) == [{"name": "ada", "mail": "new@x", "city": "Bonn", **nothing}]
    with pytest.raises(ValidationFailure) as found:
        graph.load([{"delete": "Person", "id": "ada"}, before], mode="merge")
    assert found.value.details["counts"] == {"required": 1}


def test_a_violation_of_an_earlier_record_is_reported_once(graph: Graph) -> None:
    changes: list[dict[str, Any]] = [{"name": "ada", "mail": None}, {"name": "ada", "age": 3}]
    with pytest.raises(ValidationFailure) as found:
        graph.load(as_lines(changes), mode="merge")
    assert [item["record"] for item in found.value.details["violations"]] == [1]


def test_kept_values_take_part_in_uniqueness(graph: Graph) -> None:
    with pytest.raises(ValidationFailure) as found:
        graph.load(
            as_lines([{"name": "ada", "age": 1}, {"name": "bob", "mail": "a@x"}]), mode="merge"
        )
    assert found.value.details["counts"] == {"unique": 1}


def test_overwrite_keeps_nothing(graph: Graph) -> None:
    graph.load([{"edge": "Owns", "from": "ada", "to": "n"}], mode="overwrite")
    assert stored(graph, "Owns") == [{"share": None, "since": 1}]


def test_a_merge_load_on_a_moved_head_keeps_the_values_of_that_head(graph: Graph) -> None:
    def act() -> None:
        faults.clear()
        graph.load(as_lines([{"name": "ada", "city": "Ulm"}]), mode="merge")

    faults.arm("attempt.prepared", act)
    graph.load(as_lines([{"name": "ada", "age": 1}]), mode="merge")
    assert stored(graph) == [{**ADA, "age": 1, "city": "Ulm"}]


def test_many_rows_are_completed_by_address(graph: Graph) -> None:
    many = [{"name": f"p{n}", "mail": f"{n}@x", "age": n} for n in range(3000)]
    graph.load(as_lines(many), mode="append")
    ages = pa.table({"name": [f"p{n}" for n in range(3000)], "city": ["Ulm"] * 3000})
    result = graph.load(ages, mode="merge", type="Person")
    assert result.total_nodes == 3000
    found = {row["name"]: row for row in stored(graph)}
    assert all(
        (found[p["name"]]["age"], found[p["name"]]["city"]) == (p["age"], "Ulm") for p in many
    )
