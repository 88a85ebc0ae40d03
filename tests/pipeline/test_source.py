"""The data source ``omnigraph``: what Spark reads from a graph and writes to it."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, GreaterThan, InputPartition

from omnigraph.errors import GraphError
from omnigraph.graph.open import init_graph, open_graph
from omnigraph.pipeline.datasource.conditions import parse_where
from omnigraph.pipeline.datasource.source import register
from omnigraph.pipeline.spark.columns import find_entity

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from omnigraph.graph.facade import EmbeddedGraph

SCHEMA = """
node Person {
    name: String @key
    age: I32?
    seen: DateTime?
    born: Date?
    mood: enum(glad, sad)?
    weight: F32?
    rank: U64?
    tags: [String]?
    face: Vector(2)?
    photo: Blob?
}

edge Knows: Person -> Person {
    since: Date?
}
"""
SECRET = "sesame-open-sesame"  # noqa: S105 - opens nothing
PEOPLE = [
    {
        "name": f"p{n}",
        "age": None if n % 5 == 0 else n,
        "seen": f"2026-01-0{n % 9 + 1}T10:00:00Z",
        "born": f"200{n % 10}-02-03",
        "mood": ("glad", "sad", None)[n % 3],
        "weight": n / 10,
        "rank": 2**64 - 1 - n,
        "tags": ["a", f"t{n}"],
        "face": [1.0, n],
        "photo": "base64:AAEC",
    }
    for n in range(20)
]
KNOWS = [{"from": f"p{n}", "to": f"p{n + 1}", "since": "2026-03-04"} for n in range(10)]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> EmbeddedGraph:
    """A graph with two commits of people, so that a table has two fragments."""
    graph = init_graph(tmp_path_factory.mktemp("source") / "g.omni", SCHEMA, durability="process")
    graph.load({"Person": PEOPLE[:12]}, mode="append")
    graph.tags.create("early")
    graph.load({"Person": PEOPLE[12:], "Knows": KNOWS}, mode="append")
    register(spark, storage_options={"secret_access_key": SECRET})
    return graph


def read(spark: SparkSession, graph: EmbeddedGraph, **options: str) -> DataFrame:
    return spark.read.format("omnigraph").options(**options).load(graph.uri)


def names(frame: DataFrame) -> list[str]:
    return sorted(row["name"] for row in frame.select("name").collect())


def test_nodes_have_the_values_that_a_query_gives(
    spark: SparkSession, source: EmbeddedGraph
) -> None:
    frame = read(spark, source, type="Person")
    assert dict(frame.dtypes) == {
        "id": "string",
        "name": "string",
        "age": "int",
        "seen": "timestamp",
        "born": "date",
        "mood": "string",
        "weight": "float",
        "rank": "decimal(20,0)",
        "tags": "array<string>",
        "face": "array<float>",
        "photo": "binary",
    }
    first = next(row for row in frame.collect() if row["name"] == "p1").asDict()
    assert first["rank"] == 2**64 - 2
    assert (first["tags"], first["face"], bytes(first["photo"])) == (["a", "t1"], [1, 1], b"\0\1\2")
    assert first["born"] == dt.date(2001, 2, 3)
    assert frame.count() == 20


@pytest.mark.usefixtures("as_users_have_it")
def test_edges_say_where_they_begin_and_end(spark: SparkSession, source: EmbeddedGraph) -> None:
    frame = read(spark, source, type="Knows")
    assert frame.columns == ["id", "from", "to", "since"]
    assert {(row["from"], row["to"]) for row in frame.collect()} == {
        (edge["from"], edge["to"]) for edge in KNOWS
    }


def test_any_target_can_be_read(spark: SparkSession, source: EmbeddedGraph) -> None:
    assert read(spark, source, type="Person", at="early").count() == 12
    first = source.commits.list().commits[-1].id
    assert read(spark, source, type="Person", at=first).count() == 0


def test_a_query_gives_its_rows_and_is_not_run_for_its_columns(
    spark: SparkSession, source: EmbeddedGraph
) -> None:
    query = """query older($age: I32) {
        match { $p: Person
            $p knows $q
            $p.age > $age }
        return { $p.name as name, $q.name as friend, $q }
    }"""
    frame = read(spark, source, query=query, params='{"age": 3}')
    assert frame.columns == ["name", "friend", "q"]
    found = {(row["name"], row["friend"], row["q"]["id"]) for row in frame.collect()}
    assert found == {(f"p{n}", f"p{n + 1}", f"p{n + 1}") for n in range(4, 10) if n % 5}
    narrow = read(spark, source, query=query, params='{"age": 3}', columns="friend")
    assert narrow.columns == ["friend"]
    for params in ("{}", "[1]", "{"):
        with pytest.raises(PySparkException, match=r"age|JSON object"):
            read(spark, source, query=query, params=params).columns  # noqa: B018


def test_only_the_chosen_columns_are_read(spark: SparkSession, source: EmbeddedGraph) -> None:
    chosen = read(spark, source, type="Person", columns="age, name")
    assert chosen.columns == ["age", "name"]
    assert len(names(chosen)) == 20
    by_schema = (
        spark.read.format("omnigraph")
        .schema("name string")
        .option("type", "Person")
        .load(source.uri)
    )
    assert len(names(by_schema)) == 20
    with pytest.raises(PySparkException, match=r"(?s)no column 'nme'.*name"):
        read(spark, source, type="Person", columns="nme").columns  # noqa: B018


# Conditions for the table, and the same for Spark.
CONDITIONS = {
    '$it.name = "p3"': "name = 'p3'",
    '$it.name in ["p3", "p4", "none"]': "name IN ('p3', 'p4', 'none')",
    '$it.name starts_with "p1"': "name LIKE 'p1%'",
    "$it.age >= 7\n$it.age < 13": "age >= 7 AND age < 13",
    '$it.mood = "glad" or $it.age > 17': "mood = 'glad' OR age > 17",
    '$it.born > date("2004-01-01")': "born > DATE'2004-01-01'",
    "$it.age is null": "age IS NULL",
    "not ($it.age = 7)": "NOT age = 7",
    '$it.seen = datetime("2026-01-03T10:00:00Z")': "seen = TIMESTAMP'2026-01-03 10:00:00Z'",
}


def test_a_condition_means_the_same_to_the_table_and_to_spark(
    spark: SparkSession, source: EmbeddedGraph
) -> None:
    frame = read(spark, source, type="Person").cache()
    for condition, sql in CONDITIONS.items():
        expected = names(frame.where(sql))
        assert names(read(spark, source, type="Person", where=condition)) == expected, condition
        assert expected, f"{condition} is worth nothing"
    frame.unpersist()
    edges = read(spark, source, type="Knows", where='$it.since > date("2026-03-03")')
    assert edges.count() == 10
    assert read(spark, source, type="Knows", where='$it.since = date("2026-03-03")').count() == 0


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("$it.rank > 5", "leave that part to Spark"),
        ("$it.agee > 5", "agee"),
        ("$it knows $other", "accepts only"),
        ("$it.age > 5 } return { $it } limit 3", "Q000"),
        ("", "accepts only"),
    ],
)
def test_a_condition_that_a_table_cannot_answer_is_refused(
    source: EmbeddedGraph, where: str, message: str
) -> None:
    snapshot = source.engine.snapshot("main")
    with pytest.raises(GraphError, match=message):
        parse_where(source.engine, snapshot, find_entity(snapshot.catalog, "Person"), where)


@pytest.mark.usefixtures("as_users_have_it")
def test_one_frame_can_be_filtered_in_several_ways(
    spark: SparkSession, source: EmbeddedGraph
) -> None:
    frame = read(spark, source, type="Person")
    old, young = frame.where("age > 15"), frame.where("age < 3")
    assert (old.count(), young.count(), frame.count()) == (4, 2, 20)
    assert old.union(young).count() == 6


class Pushed(DataSource):
    """The numbers below ten; takes filters as Spark offers to push them."""

    @classmethod
    def name(cls) -> str:
        return "pushed"

    def schema(self) -> str:
        return "n int"

    def reader(self, schema: StructType) -> DataSourceReader:
        return PushedReader()


class PushedReader(DataSourceReader):
    low = -1

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:  # noqa: N802
        for one in filters:
            if isinstance(one, GreaterThan):
                self.low = one.value
            else:
                yield one

    def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
        return ((n,) for n in range(10) if n > self.low)


def test_spark_keeps_pushed_filters_so_none_are_taken(spark: SparkSession) -> None:
    """The reason for the option ``where``: when this fails, filters can be taken from Spark."""
    spark.dataSource.register(Pushed)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        frame = spark.read.format("pushed").load()
        assert (frame.count(), frame.where("n > 6").count(), frame.count()) == (10, 3, 3)
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


def test_a_partition_is_some_fragments(spark: SparkSession, source: EmbeddedGraph) -> None:
    assert read(spark, source, type="Person").rdd.getNumPartitions() == 1


def test_a_view_can_be_declared_in_sql(spark: SparkSession, source: EmbeddedGraph) -> None:
    for name in ("Person", "Knows"):
        spark.sql(
            f"CREATE OR REPLACE TEMPORARY VIEW {name} USING omnigraph "
            f"OPTIONS (graph '{source.uri}', type '{name}')"
        )
    found = spark.sql("SELECT count(*) AS n FROM Person WHERE age > 15").collect()
    assert found[0]["n"] == 4
    joined = spark.sql("SELECT p.age FROM Knows k JOIN Person p ON k.to = p.name")
    assert joined.count() == 10


def test_of_a_table_in_its_catalog_spark_forgets_the_options(
    spark: SparkSession, source: EmbeddedGraph
) -> None:
    spark.sql(f"CREATE TABLE people USING omnigraph OPTIONS (graph '{source.uri}', type 'Person')")
    try:
        with pytest.raises(PySparkException, match="CREATE TEMPORARY VIEW"):
            spark.sql("SELECT * FROM people").collect()
    finally:
        spark.sql("DROP TABLE people")


def test_secrets_stand_in_no_plan(spark: SparkSession, source: EmbeddedGraph) -> None:
    frame = read(spark, source, type="Person")
    execution = frame._jdf.queryExecution()
    assert SECRET not in execution.toString()
    assert SECRET not in frame._jdf.queryExecution().logical().toJSON()
    assert "sesame" not in json.dumps(dict(spark.sparkContext.getConf().getAll()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs a type or a query"),
        ({"type": "Persn"}, "Did you mean.*Person"),
        ({"type": "Person", "at": "nowhere"}, "nowhere"),
        ({"query": "query q() {"}, "gq"),
    ],
)
def test_a_wrong_option_is_told_before_anything_runs(
    spark: SparkSession, source: EmbeddedGraph, options: dict[str, str], message: str
) -> None:
    with pytest.raises(PySparkException, match=f"(?is){message}"):
        read(spark, source, **options).columns  # noqa: B018


# --- writing -------------------------------------------------------------------------------------


@pytest.fixture
def target(tmp_path: Path, source: EmbeddedGraph) -> EmbeddedGraph:
    graph = init_graph(tmp_path / "g.omni", SCHEMA, durability="process")
    graph.load({"Person": [{"name": "ann", "age": 1}, {"name": "ben", "age": 2}]}, mode="append")
    return graph


def people(spark: SparkSession, *rows: tuple[str, int | None]) -> DataFrame:
    return spark.createDataFrame(list(rows), "name string, age int")


def ages(graph: EmbeddedGraph) -> dict[str, int | None]:
    found = graph.query(
        "query q() { match { $p: Person } return { $p.name as name, $p.age as age } }"
    )
    return {row["name"]: row["age"] for row in found}


def test_writing_appends_merges_or_overwrites_in_one_commit(
    spark: SparkSession, target: EmbeddedGraph
) -> None:
    def write(frame: DataFrame, save: str, **options: str) -> None:
        writer = frame.write.format("omnigraph").mode(save).option("type", "Person")
        writer.options(**options).save(target.uri)

    before = len(target.commits.list().commits)
    write(people(spark, ("cat", 3)), "append", message="from spark", actor="sparky")
    assert ages(target) == {"ann": 1, "ben": 2, "cat": 3}
    last = target.commits.list().commits[0]
    assert (last.message, last.actor) == ("from spark", "sparky")
    write(people(spark, ("cat", 4), ("dan", None)), "append", mode="merge")
    assert ages(target) == {"ann": 1, "ben": 2, "cat": 4, "dan": None}
    write(people(spark, ("eve", 5)), "overwrite")
    assert ages(target) == {"eve": 5}
    assert len(target.commits.list().commits) == before + 3
    assert not target.engine.root.objects.list("_scratch"), "scratch files are gone"


def test_writing_what_breaks_a_rule_changes_nothing(
    spark: SparkSession, target: EmbeddedGraph
) -> None:
    head = target.commits.list().commits[0].id

    def write(frame: DataFrame, **options: str) -> None:
        writer = frame.write.format("omnigraph").mode("append").option("type", "Person")
        writer.options(**options).save(target.uri)

    with pytest.raises(PySparkException, match=r"'ann'.* exists already"):
        write(people(spark, ("ann", 3)))
    with pytest.raises(PySparkException, match="repeated in record"):
        write(people(spark, ("zoe", 3), ("zoe", 4)))
    with pytest.raises(PySparkException, match="nme"):
        write(people(spark, ("zoe", 3)).withColumnRenamed("name", "nme"))
    with pytest.raises(PySparkException, match="not a mode"):
        write(people(spark, ("zoe", 3)), mode="replace")
    edges = spark.createDataFrame([("ann", "nobody")], "`from` string, to string")
    with pytest.raises(PySparkException, match="no Person 'nobody'"):
        edges.write.format("omnigraph").mode("append").option("type", "Knows").save(target.uri)
    with pytest.raises(PySparkException, match="is overwrite, but its option"):
        people(spark, ("zoe", 3)).write.format("omnigraph").mode("overwrite").options(
            type="Person", mode="merge"
        ).save(target.uri)
    assert target.commits.list().commits[0].id == head
    assert not target.engine.root.objects.list("_scratch")


def test_a_condition_on_the_head_is_kept(spark: SparkSession, target: EmbeddedGraph) -> None:
    old = target.commits.list().commits[0].id
    target.load({"Person": [{"name": "cat"}]}, mode="append")
    with pytest.raises(PySparkException, match="commit"):
        people(spark, ("dan", 1)).write.format("omnigraph").mode("append").options(
            type="Person", if_commit=old
        ).save(target.uri)
    assert open_graph(target.uri).query(
        "query q() { match { $p: Person } return { count($p) as n } }"
    ).rows() == [{"n": 3}]


def test_a_misspelled_option_is_refused_and_a_foreign_one_is_not(
    spark: SparkSession, source: EmbeddedGraph
) -> None:
    read = spark.read.format("omnigraph").options(type="Person")
    with pytest.raises(PySparkException, match="there is no option 'wher'"):
        read.option("wher", "$it.age > 1").load(source.uri)
    assert spark.read.format("omnigraph").options(TYPE="Person", quux="1").load(source.uri).columns
