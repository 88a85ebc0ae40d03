"""Which engine does the work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph import pipeline
from omnigraph.errors import GraphError, InvalidInput
from omnigraph.graph.open import init_graph
from omnigraph.pipeline import engine_choice as engines
from omnigraph.pipeline.engine_choice import choose_for_export, choose_for_load
from omnigraph.pipeline.inputs.mapping import Mapping, parse_mapping
from omnigraph.pipeline.spark.session import SparkOptions, _error_message, _with_conf, open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file, where a hundred bytes are much."""
    monkeypatch.setattr(engines, "AUTO_BYTES", 100)
    path = tmp_path / "a.ndjson"
    path.write_text('{"type": "Person"}\n')
    return path


def test_small_inputs_stay_in_this_process_and_large_ones_go_to_spark(small: Path) -> None:
    assert choose_for_load("auto", str(small)) == "local"
    large = small.with_name("b.ndjson")
    large.write_text("x" * 200)
    assert choose_for_load("auto", [small, large]) == "spark"
    assert choose_for_load("auto", str(small.parent / "*.ndjson")) == "spark"
    assert choose_for_load("local", large) == "local"
    assert choose_for_load("spark", small) == "spark"


@pytest.mark.parametrize("source", [[{"type": "Person"}], b"{}", iter(()), "nothing.ndjson"])
def test_what_is_not_a_file_is_read_here(small: Path, source: Any) -> None:
    assert choose_for_load("auto", source) == "local"


def test_naming_a_spark_asks_for_it(small: Path) -> None:
    assert choose_for_load("auto", small, named=True) == "spark"
    assert choose_for_export("auto", small.parent, 5, named=True) == "spark"


def test_without_a_spark_a_large_load_is_tried_here(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.write_text("x" * 200)
    monkeypatch.setattr(engines, "is_installed", lambda: False)
    assert choose_for_load("auto", small) == "local"


def test_exports_go_to_spark_when_they_are_large_and_have_a_path(tmp_path: Path) -> None:
    assert choose_for_export("auto", tmp_path, 5) == "local"
    assert choose_for_export("auto", tmp_path, 10**9) == "spark"
    assert choose_for_export("auto", open, 10**9) == "local"


def test_an_engine_that_does_not_exist_is_refused(small: Path) -> None:
    with pytest.raises(InvalidInput, match="'flink' is not an engine"):
        choose_for_load("flink", small)


@pytest.mark.parametrize("named", ["raw/*.ndjson", "raw"])
@pytest.mark.parametrize("listed", [True, False])
def test_patterns_and_directories_are_loaded_by_this_process_too(
    tmp_path: Path, named: str, listed: bool
) -> None:
    graph = init_graph(tmp_path / "g.omni", "node Person { name: String @key }")
    (tmp_path / "raw").mkdir()
    for name in ("ann", "ben"):
        record = f'{{"type": "Person", "data": {{"name": "{name}"}}}}\n'
        (tmp_path / "raw" / f"{name}.ndjson").write_text(record)
    source = str(tmp_path / named)
    done = pipeline.load(graph, [source] if listed else source, mode="append", engine="auto")
    assert (done.to_json().get("engine"), graph.status().nodes) == (None, 2)


def test_patterns_of_several_types_are_loaded_by_this_process_too(tmp_path: Path) -> None:
    schema = "node Person { name: String @key }\nnode Place { name: String @key }"
    graph = init_graph(tmp_path / "g.omni", schema)
    for name in ("ann", "ben"):
        (tmp_path / f"person-{name}.csv").write_text(f"name\n{name}\n")
    (tmp_path / "places.csv").mkdir()
    (tmp_path / "places.csv" / "part-0.csv").write_text("name\nBonn\n")
    source = {"Person": str(tmp_path / "person-*.csv"), "Place": tmp_path / "places.csv"}
    done = pipeline.load(graph, source, mode="append", engine="auto")
    assert (done.to_json().get("engine"), graph.status().nodes) == (None, 3)


@pytest.mark.parametrize(
    "master", ["nosuch", "local[x]", "local[2", "local-cluster[2,1]", "spark://", "Local", ""]
)
def test_a_master_that_spark_does_not_know_is_refused_without_a_jvm(master: str) -> None:
    with pytest.raises(InvalidInput, match="is not a Spark master URL") as refused:
        open_session(SparkOptions(master=master))
    assert refused.value.code == "spark.bad_master"


def mapping(path: str, type_name: str) -> Mapping:
    into = [{"type": type_name, "properties": {"name": "name"}}]
    return parse_mapping({"sources": [{"path": path, "into": into}]}, Path())


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("nothing-*.ndjson", "there is no file nothing-"),
        ({"Persn": "a.csv"}, "no type 'Persn'"),
        (mapping("no.csv", "Person"), "no file"),
        (mapping("a.ndjson", "Persn"), "Persn"),
    ],
)
def test_what_is_wrong_with_an_input_at_first_sight_is_told_without_a_jvm(
    small: Path, monkeypatch: pytest.MonkeyPatch, source: Any, said: str
) -> None:
    def start(*_: object) -> None:
        pytest.fail("Spark was started")

    monkeypatch.chdir(small.parent)
    monkeypatch.setattr(pipeline, "open_session", start)
    graph = init_graph(small.parent / "g.omni", "node Person { name: String @key }")
    with pytest.raises(GraphError, match=said):
        pipeline.load(graph, source, mode="append", engine="spark")


def test_a_spark_beside_the_engine_local_is_refused(tmp_path: Path, small: Path) -> None:
    graph = init_graph(tmp_path / "g.omni", "node Person { name: String @key }")
    named = SparkOptions(master="local[2]")
    with pytest.raises(InvalidInput, match="spark was given as well"):
        pipeline.load(graph, str(small), mode="append", engine="local", spark=named)
    with pytest.raises(InvalidInput, match="spark was given as well"):
        pipeline.export(graph, tmp_path / "out", format="csv", engine="local", spark=named)


def test_frames_of_many_types_are_one_commit_and_need_spark(
    tmp_path: Path, spark: SparkSession
) -> None:
    graph = init_graph(
        tmp_path / "g.omni",
        "node Person { name: String @key }\nedge Knows: Person -> Person",
        durability="process",
    )
    people = spark.createDataFrame([("ann",), ("ben",)], "name string")
    knows = spark.createDataFrame([("ann", "ben")], "`from` string, to string")
    source = {"Person": people, "Knows": knows}
    with pytest.raises(InvalidInput, match="mappings need Spark"):
        pipeline.load(graph, source, mode="append", engine="local")
    done = pipeline.load(graph, source, mode="append", message="both").to_json()
    assert (done["engine"], done["total_entities"]) == ("spark", 3)
    assert [stage["stage"] for stage in done["stages"]] == ["read", "check", "stage"]
    assert graph.commits.list().commits[0].message == "both"
    assert len(graph.commits.list().commits) == 2


def test_options_of_java_that_a_user_gives_stand_beside_ours() -> None:
    ours = {"spark.driver.extraJavaOptions": "-Dlog4j2=x", "spark.ui.enabled": "false"}
    conf = {"spark.driver.extraJavaOptions": "-Xss8m", "spark.ui.enabled": "true"}
    assert _with_conf(ours, conf) == {
        "spark.driver.extraJavaOptions": "-Dlog4j2=x -Xss8m",
        "spark.ui.enabled": "true",
    }
    assert _with_conf(ours, {}) == ours


def test_why_spark_did_not_start_is_told_in_the_words_of_the_jvm() -> None:
    words = "An error occurred while calling None.X.\n: java.lang.Fault: no memory\n\tat a.b(C:1)\n"
    assert _error_message(RuntimeError(words)) == "java.lang.Fault: no memory"
    assert _error_message(RuntimeError("no such master")) == "no such master"
