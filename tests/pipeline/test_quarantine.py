"""``--on-error quarantine``: good records are loaded, bad ones are put aside and told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from omnigraph import pipeline
from omnigraph.errors import InvalidInput, ValidationFailure
from omnigraph.graph.open import init_graph
from omnigraph.testing.engine_parity import SCHEMA

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from omnigraph import Graph


def person(name: str, **data: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, **data}}


def knows(source: str, target: str) -> dict[str, Any]:
    return {"edge": "Knows", "from": source, "to": target}


RECORDS = [
    person("ann", age=30),
    person("ben", age=999),  # out of range
    "no json",
    person("cat", mail="c@x"),
    person("dan", mail="c@x"),  # not unique
    {"type": "Prson", "data": {}},  # no such type
    person("old"),  # exists already
    person("eve", age="many"),  # cannot be typed
    knows("ann", "cat"),
    knows("ann", "ben"),  # its node is put aside
    knows("dan", "cat"),  # likewise
    knows("ann", "eve"),  # likewise
    person("fay"),
    person("fay"),  # the same id twice
]


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = init_graph(tmp_path / "g.omni", SCHEMA, durability="process")
    graph.load({"Person": [{"name": "old"}]}, mode="append")
    lines = [each if isinstance(each, str) else json.dumps(each) for each in RECORDS]
    (tmp_path / "a.ndjson").write_text("\n".join(lines))
    return graph


def names(graph: Graph) -> list[str]:
    found = graph.query("query q() { match { $p: Person } return { $p.name as name } }")
    return sorted(row["name"] for row in found)


def test_good_records_are_loaded_and_bad_ones_are_put_aside(
    spark: SparkSession, graph: Graph, tmp_path: Path
) -> None:
    out = tmp_path / "bad"
    done = pipeline.load(
        graph,
        tmp_path / "a.ndjson",
        mode="append",
        spark=spark,
        on_error="quarantine",
        report=str(out),
    ).to_json()
    assert names(graph) == ["ann", "cat", "fay", "old"]
    edges = graph.query("query q() { match { $p knows $q } return { $p.name as a, $q.name as b } }")
    assert edges.rows() == [{"a": "ann", "b": "cat"}]
    told = pq.read_table(out / "violations.parquet").to_pylist()
    assert done["violations"] == len(told)
    assert {(row["rule"], row["record"]) for row in told} == {
        ("range", 2),
        ("json", 3),
        ("unique", 5),
        ("unknown_type", 6),
        ("key", 7),
        ("type", 8),
        ("endpoint", 10),
        ("endpoint", 11),
        ("endpoint", 12),
        ("key", 13),
    }
    assert {row["file"].rpartition("/")[2] for row in told} == {"a.ndjson"}
    # What did not become a row is kept as it came.
    unread = {row["record"]: row["text"] for row in told if row["text"] is not None}
    assert unread.pop(3) == "no json"
    assert {record: json.loads(text) for record, text in unread.items()} == {
        6: RECORDS[5],
        8: RECORDS[7],
    }
    aside = pq.read_table(out / "Person.parquet").to_pylist()
    assert sorted(row["name"] for row in aside) == ["ben", "dan", "fay", "old"]
    assert pq.read_table(out / "Knows.parquet").num_rows == 3
    assert done["put_aside"] == 7


def test_a_load_that_fails_can_leave_a_report_of_everything(
    spark: SparkSession, graph: Graph, tmp_path: Path
) -> None:
    out = tmp_path / "report"
    with pytest.raises(ValidationFailure) as caught:
        pipeline.load(graph, tmp_path / "a.ndjson", mode="merge", spark=spark, report=str(out))
    told = pq.read_table(out / "violations.parquet").to_pylist()
    assert len(told) == caught.value.details["total"]
    assert names(graph) == ["old"]
    assert [path.name for path in out.iterdir()] == ["violations.parquet"]


def test_what_no_record_is_to_blame_for_cannot_be_put_aside(
    spark: SparkSession, graph: Graph, tmp_path: Path
) -> None:
    graph.load([knows("old", "old")], mode="merge")
    (tmp_path / "b.ndjson").write_text(json.dumps(person("ann")))
    with pytest.raises(ValidationFailure, match="would lose its Person 'old'"):
        pipeline.load(
            graph,
            tmp_path / "b.ndjson",
            mode="overwrite",
            spark=spark,
            on_error="quarantine",
            report=str(tmp_path / "bad"),
        )


def test_bad_records_need_a_place(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="needs a directory"):
        pipeline.load(graph, tmp_path / "a.ndjson", mode="merge", on_error="quarantine")
    with pytest.raises(InvalidInput, match="fail, quarantine"):
        pipeline.load(graph, tmp_path / "a.ndjson", mode="merge", on_error="ignore")
    with pytest.raises(InvalidInput, match="need Spark"):
        pipeline.load(graph, tmp_path / "a.ndjson", mode="merge", engine="local", report="x")


def test_what_cannot_be_read_of_a_table_is_kept_as_text(
    spark: SparkSession, graph: Graph, tmp_path: Path
) -> None:
    (tmp_path / "people.csv").write_text("name,age\nann,1\nben,many\ncat,3,4\n")
    out = tmp_path / "bad"
    pipeline.load(
        graph,
        {"Person": tmp_path / "people.csv"},
        mode="append",
        spark=spark,
        on_error="quarantine",
        report=str(out),
    )
    assert names(graph) == ["ann", "old"]
    told = pq.read_table(out / "violations.parquet").to_pylist()
    assert {row["record"]: row["text"] for row in told} == {
        2: '{"name": "ben", "age": "many"}',
        3: "cat,3,4",
    }
