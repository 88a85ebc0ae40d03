"""The data source asks, too: reads, queries and writes, for whom it was registered for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

from omnigraph.errors import GraphError
from omnigraph.graph.open import init_graph
from omnigraph.pipeline.datasource.source import register

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

BUNDLE = """\
version: 1
groups: {owners: [ann], clerks: [cyd], nobodies: [bob]}
rules:
  - id: owners
    allow: {actors: {group: owners}, actions: [read, export, change]}
  - id: clerks
    allow: {actors: {group: clerks}, actions: [read, export]}
  - id: no-numbers
    deny: {actors: {group: clerks}, actions: [read], properties: [Person.ssn]}
"""
QUERY = "query q() { match { $p: Person } return { $p.name } }"


def test_the_data_source_reads_and_writes_what_policy_allows(
    spark: SparkSession, tmp_path: Path
) -> None:
    place, policy = str(tmp_path / "g.omni"), str(tmp_path / "team.yaml")
    (tmp_path / "team.yaml").write_text(BUNDLE, encoding="utf-8")
    graph = init_graph(place, "node Person {\n name: String @key\n ssn: String?\n}")
    graph.mutate('query q() { insert Person { name: "Ann", ssn: "1" } }')
    try:
        register(spark, policy=policy, actor="cyd")
        read = spark.read.format("omnigraph").option("type", "Person")
        assert read.load(place).columns == ["id", "name"]
        asked = spark.read.format("omnigraph").option("query", QUERY).load(place)
        assert [row.asDict() for row in asked.collect()] == [{"p.name": "Ann"}]
        rows = spark.createDataFrame([("Bob",)], "name string")
        write = rows.write.format("omnigraph").option("type", "Person").mode("append")
        with pytest.raises((PySparkException, GraphError), match=r"policy\.denied|may not change"):
            write.save(place)
        for actor in ("bob", None):
            register(spark, policy=policy, actor=actor)
            with pytest.raises((PySparkException, GraphError), match=r"policy\.denied|may not"):
                spark.read.format("omnigraph").option("type", "Person").load(place).collect()
        register(spark, policy=policy, actor="ann")
        rows.write.format("omnigraph").option("type", "Person").mode("append").save(place)
        assert graph.commits.list().commits[0].actor == "ann"
    finally:
        register(spark)
