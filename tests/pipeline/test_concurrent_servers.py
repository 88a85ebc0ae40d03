"""Two servers and a Spark job write to one graph at the same time."""

from __future__ import annotations

import contextlib
import itertools
import signal
import threading
from typing import TYPE_CHECKING

import pytest
from tests.e2e.test_server import ADD, ALL, G, Process, wait_for

import omnigraph
from omnigraph import pipeline

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx
    from pyspark.sql import SparkSession

LOADED = 50


@contextlib.contextmanager
def writing(servers: list[Process], acknowledged: set[str]) -> Iterator[list[int]]:
    """A writer on each server, until the block ends; the statuses that were no success."""
    refused: list[int] = []
    enough = threading.Event()

    def write(server: Process) -> None:
        with server.client() as client:
            for count in itertools.count():
                # The machine is for Spark, too.
                if enough.wait(0.02):
                    return
                name = f"{server.url}-{count}"
                answer = client.post(f"{G}/mutate", json={"query": ADD, "params": {"n": name}})
                if answer.status_code == 200:
                    acknowledged.add(name)
                else:
                    refused.append(answer.status_code)

    threads = [threading.Thread(target=write, args=(server,)) for server in servers]
    for thread in threads:
        thread.start()
    try:
        yield refused
    finally:
        enough.set()
        for thread in threads:
            thread.join()


def names_at(client: httpx.Client) -> list[str]:
    rows = client.post(f"{G}/query", json={"query": ALL}).json()["rows"]
    return [row["p.name"] for row in rows]


@pytest.mark.slow
def test_two_servers_and_a_spark_job_write_to_one_graph_at_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = tmp_path / "people.omni"
    graph = omnigraph.init(place, "node Person { name: String @key }", durability="process")
    people = spark.createDataFrame([(f"spark-{n}",) for n in range(LOADED)], "name string")
    arguments = (place, tmp_path / "server.log", "--policy", "preset:team")
    servers = [Process(*arguments), Process(*arguments)]
    acknowledged: set[str] = set()
    try:
        with writing(servers, acknowledged) as refused:
            wait_for(acknowledged, 4)
            before = len(acknowledged)
            loaded = pipeline.load(
                graph, {"Person": people}, mode="merge", engine="spark", spark=spark
            )
            during = len(acknowledged) - before
        assert loaded.to_json()["total_entities"] == LOADED
        # They did write at the same time, and nobody had to give up for it.
        assert during > 0
        assert refused == []
        everything = acknowledged | {f"spark-{n}" for n in range(LOADED)}
        for server in servers:
            with server.client() as client:
                found = names_at(client)
            assert len(found) == len(set(found))
            assert set(found) == everything
        commits = list(graph.engine.lineage.history(graph.engine.resolver.resolve("main")))
        assert len(commits) == 2 + len(acknowledged)
        assert graph.recoveries.pending() == []
    finally:
        for server in servers:
            server.end(signal.SIGTERM)
