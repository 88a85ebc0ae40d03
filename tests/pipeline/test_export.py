"""Export on Spark: what it writes can be loaded again, and gives the same graph."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from omnigraph import pipeline
from omnigraph.errors import AlreadyExists, InvalidInput, NotFound
from omnigraph.graph.open import init_graph
from omnigraph.pipeline import spark_export
from omnigraph.testing.engine_parity import SCHEMA, contents

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from omnigraph.graph.facade import EmbeddedGraph

PEOPLE = [
    {"name": f"p{n}", "age": n, "mail": f"{n}@x", "score": n / 7, "mood": "glad"} for n in range(9)
]
NOTES = [{"id": "n1", "text": 'a "b",\nc', "tags": ["x", "y"], "embedding": [1, 2, 3]}]
KNOWS = [{"from": "p1", "to": "p2", "since": "2026-01-02"}, {"from": "p2", "to": "p1"}]
MENTIONS = [{"from": "n1", "to": "p3", "weight": 2**64 - 1}]


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> EmbeddedGraph:
    graph = init_graph(tmp_path_factory.mktemp("full") / "g.omni", SCHEMA, durability="process")
    graph.load({"Person": PEOPLE[:4]}, mode="append")
    graph.tags.create("early")
    source = {"Person": PEOPLE[4:], "Note": NOTES, "Knows": KNOWS, "Mentions": MENTIONS}
    graph.load(source, mode="append")
    return graph


@pytest.mark.parametrize("kind", ["parquet", "ndjson", "csv"])
def test_an_export_loads_into_the_same_graph(
    spark: SparkSession,
    full: EmbeddedGraph,
    tmp_path: Path,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spark_export, "_ROWS_PER_FILE", 5)
    out = tmp_path / "out"
    told = pipeline.export(full, out, format=kind, spark=spark).to_json()
    assert (told["engine"], told["total_entities"]) == ("spark", 13)
    assert sorted(path.name for path in out.iterdir()) == sorted(
        f"{name}.{kind}" for name in ("Person", "Place", "Note", "Knows", "LivesIn", "Mentions")
    )
    parts = sorted(path.name for path in (out / f"Person.{kind}").iterdir())
    assert parts == [f"part-00000.{kind}", f"part-00001.{kind}"]
    again = init_graph(tmp_path / "again.omni", SCHEMA, durability="process")
    files = {
        name: [str(path) for path in sorted((out / f"{name}.{kind}").iterdir())]
        for name in ("Person", "Note", "Knows", "Mentions")
    }
    if kind == "ndjson":
        again.load([path for paths in files.values() for path in paths], mode="append")
    else:
        # One type needs the other in the same commit.
        pipeline.load(again, files, mode="append", spark=spark)
    assert contents(again) == contents(full)


def test_any_target_and_some_types(
    spark: SparkSession, full: EmbeddedGraph, tmp_path: Path
) -> None:
    done = pipeline.export(
        full.at("early"), tmp_path / "o", format="parquet", types=["Person"], spark=spark
    )
    assert done.to_json()["total_entities"] == 4
    assert [path.name for path in (tmp_path / "o").iterdir()] == ["Person.parquet"]
    frame = spark.read.parquet(str(tmp_path / "o" / "Person.parquet"))
    assert sorted(row["name"] for row in frame.collect()) == ["p0", "p1", "p2", "p3"]


def test_what_is_there_is_left_alone(
    spark: SparkSession, full: EmbeddedGraph, tmp_path: Path
) -> None:
    (tmp_path / "Person.csv").mkdir()
    with pytest.raises(AlreadyExists, match=r"Person\.csv exists"):
        pipeline.export(full, tmp_path, format="csv", types=["Person"], spark=spark)
    with pytest.raises(InvalidInput, match="writes a directory"):
        pipeline.export(full, io.BytesIO(), spark=spark)
    with pytest.raises(NotFound, match="Prson"):
        pipeline.export(full, tmp_path, types=["Prson"], spark=spark)
    with pytest.raises(InvalidInput, match="not a format"):
        pipeline.export(full, tmp_path, format="xml", spark=spark)
    assert [path.name for path in tmp_path.iterdir()] == ["Person.csv"]
