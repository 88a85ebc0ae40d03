"""Bad input, and others at work: a clear error or a correct load, and nothing half visible."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph import pipeline
from omnigraph.errors import GraphError, InvalidInput, ValidationFailure
from omnigraph.graph.open import init_graph
from omnigraph.pipeline.inputs import read_plan
from omnigraph.pipeline.inputs.splits import plan_splits
from omnigraph.pipeline.spark_load import SparkLoadOptions
from omnigraph.testing.engine_parity import SCHEMA, Twins

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from omnigraph.graph.facade import EmbeddedGraph
    from omnigraph.pipeline.inputs.splits import Split
    from omnigraph.pipeline.spark.progress import Stage


@pytest.fixture
def graph(tmp_path: Path) -> EmbeddedGraph:
    return init_graph(tmp_path / "g.omni", SCHEMA, durability="process")


def person(number: int) -> str:
    return json.dumps({"type": "Person", "data": {"name": f"p{number}", "age": number % 90}})


def people(count: int) -> bytes:
    return "".join(f"{person(number)}\n" for number in range(count)).encode()


def require_untouched(graph: EmbeddedGraph) -> None:
    assert len(graph.commits.list().commits) == 1
    assert not graph.engine.root.objects.list("_scratch"), "scratch files are gone"
    assert not graph.recoveries.pending()


@pytest.mark.parametrize("damage", ["in the middle", "cut off"])
def test_a_corrupt_gzip_is_named_and_nothing_is_written(
    spark: SparkSession, graph: EmbeddedGraph, tmp_path: Path, damage: str
) -> None:
    (tmp_path / "good.ndjson").write_bytes(people(10))
    packed = bytearray(gzip.compress(people(50_000), 1))
    if damage == "cut off":
        packed = packed[: len(packed) // 2]
    else:
        middle = len(packed) // 2
        packed[middle : middle + 64] = b"\xff" * 64
    (tmp_path / "bad.ndjson.gz").write_bytes(packed)
    with pytest.raises((InvalidInput, ValidationFailure), match=r"bad\.ndjson\.gz"):
        pipeline.load(graph, f"{tmp_path}/*.ndjson*", mode="append", spark=spark)
    require_untouched(graph)


def test_a_file_that_vanishes_is_named_and_nothing_is_written(
    spark: SparkSession, graph: EmbeddedGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / f"{number}.ndjson" for number in range(3)]
    for path in paths:
        path.write_bytes(people(5))

    def plan_and_lose(*args: Any, **kwargs: Any) -> list[Split]:
        splits = plan_splits(*args, **kwargs)
        paths[1].unlink()
        return splits

    monkeypatch.setattr(read_plan, "plan_splits", plan_and_lose)
    with pytest.raises(GraphError, match=r"1\.ndjson"):
        pipeline.load(graph, f"{tmp_path}/*.ndjson", mode="append", spark=spark)
    require_untouched(graph)


def test_one_bad_record_among_many_is_found_by_its_number(
    spark: SparkSession, tmp_path: Path
) -> None:
    twins = Twins(tmp_path, spark)
    twins.order = SparkLoadOptions(split_bytes=200_000, chunk_bytes=100_000)
    lines = [person(number) for number in range(31_415)]
    lines[27_182] = '{"type": "Persn", "data": {}}'
    found = twins.load(twins.write("late.ndjson", *lines), "append")
    assert found.counts == {"unknown_type": 1}
    [told] = found.violations
    assert told[5:7] == (27_183, 27_183)


@pytest.mark.slow
def test_an_unknown_type_in_record_3_141_592_is_found_by_its_number(
    spark: SparkSession, graph: EmbeddedGraph, tmp_path: Path
) -> None:
    bad, count = 3_141_592, 3_200_000
    with (tmp_path / "large.ndjson").open("w") as file:
        for number in range(1, count + 1):
            name = "Persn" if number == bad else "Person"
            file.write(f'{{"type": "{name}", "data": {{"name": "p{number}"}}}}\n')
    with pytest.raises(ValidationFailure, match="Persn") as caught:
        pipeline.load(graph, tmp_path / "large.ndjson", mode="append", spark=spark)
    [told] = caught.value.details["violations"]
    assert (told["rule"], told["record"], told["line"]) == ("unknown_type", bad, bad)
    require_untouched(graph)


def test_others_commit_meanwhile_and_both_are_there(
    spark: SparkSession, graph: EmbeddedGraph, tmp_path: Path
) -> None:
    graph.load({"Person": [{"name": "p3", "age": 1}]}, mode="append")
    (tmp_path / "a.ndjson").write_bytes(people(100))
    told: list[str] = []

    def watch(stage: Stage) -> None:
        if not stage.done:
            return
        told.append(stage.name)
        if stage.name == "stage" and told.count("stage") == 1:
            # Between staging and publishing: a row that the load replaces, and one that is new.
            rows = [{"name": "p3", "age": 2}, {"name": "other", "age": 3}]
            graph.load({"Person": rows}, mode="merge", message="meanwhile")

    pipeline.load(graph, tmp_path / "a.ndjson", mode="merge", spark=spark, watch=watch)
    assert "rebase" in told, "the input was not read again"
    assert told.count("read") == 1
    rows = graph.query("query q() { match { $p: Person } return { $p.name as n, $p.age as a } }")
    ages = {row["n"]: row["a"] for row in rows}
    assert len(ages) == 101
    assert (ages["other"], ages["p3"]) == (3, 3)
    messages = [commit.message for commit in graph.commits.list().commits]
    assert messages.count("meanwhile") == 1
    assert len(messages) == 4


def test_a_conflict_that_others_made_is_told_and_nothing_is_written(
    spark: SparkSession, graph: EmbeddedGraph, tmp_path: Path
) -> None:
    (tmp_path / "a.ndjson").write_bytes(people(20))

    def watch(stage: Stage) -> None:
        if stage.name == "stage" and stage.done and len(graph.commits.list().commits) == 1:
            graph.load({"Person": [{"name": "p7"}]}, mode="append")

    with pytest.raises(GraphError, match="'p7' exists already"):
        pipeline.load(graph, tmp_path / "a.ndjson", mode="append", spark=spark, watch=watch)
    assert len(graph.query("query q() { match { $p: Person } return { $p.name as n } }")) == 1
