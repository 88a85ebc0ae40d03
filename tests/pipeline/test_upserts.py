"""A load with mode merge on Spark keeps what rows do not name, as a load in process does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph import pipeline
from omnigraph.graph.open import init_graph, open_graph
from omnigraph.pipeline.spark_load import SparkLoadOptions
from omnigraph.testing.engine_parity import Twins
from omnigraph.testing.verify import require_whole

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from omnigraph.pipeline.spark.progress import Stage

SCHEMA = """
node Person {
    name: String @key
    age: I64
    city: String? @default("Bonn")
    mail: String? @unique
    photo: Blob?
    spot: Vector(2)?
    tags: [String]?
}
edge Knows: Person -> Person {
    since: I64?
    weight: F64? @default(1.5)
    @key(src, dst)
}
"""


def person(name: str, **data: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, **data}}


def knows(source: str, target: str, **data: Any) -> dict[str, Any]:
    return {"edge": "Knows", "from": source, "to": target, "data": data}


FULL = {"city": "Rome", "photo": "base64:aGk=", "spot": [1, 2], "tags": ["t"]}
START = [
    *(person(name, age=at, mail=f"{name}@x", **FULL) for at, name in enumerate(["ann", "ben"])),
    *(person(name, age=3, mail=f"{name}@x") for name in ("cid", "dan", "eve", "fay")),
    *(knows("ann", name, since=3, weight=2.5) for name in ("ben", "cid")),
]


@pytest.fixture
def twins(tmp_path: Path, spark: SparkSession) -> Twins:
    """Two graphs with START; every record is a piece of its own, so that values cross pieces."""
    twins = Twins(tmp_path, spark, SCHEMA)
    twins.order = SparkLoadOptions(split_bytes=1, chunk_bytes=1)
    for graph in (twins.local, twins.spark):
        graph.load(START, mode="append")
    return twins


def test_what_a_row_does_not_name_is_kept(twins: Twins) -> None:
    records = [
        # Three records about one person; one that clears a value.
        *(person("ann", age=9), person("ann", tags=None), person("ann", city="Oslo")),
        person("ben", city=None),
        # A new one in parts.
        *(person("new", city="Oslo"), person("new", age=7), person("new", mail="n@x")),
        # New ones in the place of others.
        *({"delete": "Person", "id": "cid"}, person("cid", age=3)),
        *(person("dan", city="Oslo"), {"delete": "Person", "id": "dan"}),
        *(person("dan", age=5), person("dan", mail="d@x")),
        # Unique values change places.
        *(person("eve", mail="fay@x"), person("fay", mail="eve@x")),
        knows("ann", "ben", since=None),
        *({"delete": "Knows", "id": '["ann","cid"]'}, knows("ann", "cid")),
    ]
    assert twins.load(twins.write("more.ndjson", *records)).ending == "done"


def test_rules_see_whole_rows(twins: Twins) -> None:
    records = [
        person("new", city="Oslo"),
        person("ann", city="Oslo"),
        *({"delete": "Person", "id": "ben"}, person("ben", city="Oslo")),
        person("cid", city="Oslo", age=None),
        person("other", age=1, mail="eve@x"),
        person("eve", city="Oslo"),
    ]
    found = twins.load(twins.write("more.ndjson", *records))
    assert found.counts == {"required": 3, "unique": 1}


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_missing_column_is_kept_and_an_empty_cell_clears(twins: Twins, form: str) -> None:
    path = twins.directory / f"more.{form}"
    if form == "csv":
        path.write_text('name,mail,city\nann,,""\nben,n@x,\n')
    else:
        rows = {"name": ["ann", "ben"], "mail": [None, "n@x"], "city": ["", None]}
        pq.write_table(pa.table(rows), path)
    assert twins.load(str(path), type="Person").ending == "done"


def test_the_data_source_keeps_missing_columns(twins: Twins, spark: SparkSession) -> None:
    pipeline.register(spark)
    graph = twins.local
    more = spark.createDataFrame([("ann", None)], "name string, mail string")
    options = {"type": "Person", "mode": "merge"}
    more.write.format("omnigraph").mode("append").options(**options).save(graph.uri)
    [row] = open_graph(graph.uri).query(
        'query q() { match { $p: Person { name: "ann" } } return { $p } }'
    )
    assert (row["p"]["age"], row["p"]["city"], row["p"]["mail"]) == (0, "Rome", None)


def test_quarantined_records_say_nothing_to_later_ones(tmp_path: Path, spark: SparkSession) -> None:
    graph = init_graph(tmp_path / "g.omni", SCHEMA, durability="process")
    graph.load(START, mode="append")
    records = [person("ann", age=8, spot=[0, 0]), person("ann", city="Oslo"), person("new")]
    (tmp_path / "more.ndjson").write_text("\n".join(map(json.dumps, records)))
    result = pipeline.load(
        graph,
        tmp_path / "more.ndjson",
        mode="merge",
        spark=spark,
        on_error="quarantine",
        report=str(tmp_path / "bad"),
    )
    assert isinstance(result, pipeline.SparkLoadResult)
    assert (result.load.total_entities, result.put_aside) == (1, 2)
    rows = graph.query(
        "query q() { match { $p: Person } return { $p.name, $p.age, $p.city } }"
    ).rows()[:2]
    assert [tuple(row.values()) for row in rows] == [("ann", 0, "Oslo"), ("ben", 1, "Rome")]
    put_aside = pq.read_table(tmp_path / "bad" / "Person.parquet")
    assert put_aside.column("name").to_pylist() == ["ann", "new"]
    assert "_unnamed" not in put_aside.column_names


def test_quarantined_new_records_have_the_columns_of_their_type(
    tmp_path: Path, spark: SparkSession
) -> None:
    graph = init_graph(tmp_path / "g.omni", SCHEMA, durability="process")
    records = [person("new", age=1), person("other", age=2, spot=[0, 0])]
    (tmp_path / "more.ndjson").write_text("\n".join(map(json.dumps, records)))
    pipeline.load(
        graph,
        tmp_path / "more.ndjson",
        mode="merge",
        spark=spark,
        on_error="quarantine",
        report=str(tmp_path / "bad"),
    )
    put_aside = pq.read_table(tmp_path / "bad" / "Person.parquet")
    assert put_aside.column("name").to_pylist() == ["other"]
    assert "_unnamed" not in put_aside.column_names


def test_values_that_others_change_meanwhile_are_kept(tmp_path: Path, spark: SparkSession) -> None:
    graph = init_graph(tmp_path / "g.omni", SCHEMA, durability="process")
    graph.load(START, mode="append")
    (tmp_path / "more.ndjson").write_text(json.dumps(person("ann", city="Oslo")))
    done: list[str] = []

    def meanwhile(stage: Stage) -> None:
        if stage.name == "stage" and stage.done and not done:
            done.append("")
            open_graph(graph.uri).load([person("ann", age=77)], mode="merge")

    pipeline.load(graph, tmp_path / "more.ndjson", mode="merge", spark=spark, watch=meanwhile)
    again = open_graph(graph.uri)
    [row] = again.query(
        'query q() { match { $p: Person { name: "ann" } } return { $p.age, $p.city } }'
    )
    assert tuple(row.values()) == (77, "Oslo")
    require_whole(again.engine)
