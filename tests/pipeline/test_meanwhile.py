"""A long load beside others who never pause: it publishes once, and everybody's rows are there."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from omnigraph import pipeline
from omnigraph.graph.open import init_graph, open_graph
from omnigraph.operations.history import CommitFilter
from omnigraph.testing.verify import require_whole

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from omnigraph import Graph
    from omnigraph.pipeline.stages import Stage

SCHEMA = """
node Person { name: String @key age: I64? }
edge Knows: Person -> Person { since: I64? }
"""
# Commits to both tables of the load, one after another, until it is told to stop.
WRITER = """
import sys, time
from pathlib import Path
from omnigraph.graph.open import open_graph

graph, stop = open_graph(sys.argv[1]), Path(sys.argv[2])
pause, count = float(sys.argv[3]), 0
due = time.monotonic()
while not stop.exists():
    graph.load(
        {"Person": [{"name": f"w{count}", "age": 1}, {"name": "p7", "age": 1_000 + count}],
         "Knows": [{"from": f"w{count}", "to": "p7"}]},
        mode="merge", message="writer",
    )
    count += 1
    if count == 1:
        print("begun", flush=True)
    due = max(due + pause, time.monotonic())
    time.sleep(max(0.0, due - time.monotonic()))
print(count)
"""


def write_input(path: Path, nodes: int, edges: int) -> None:
    with path.open("w") as file:
        for n in range(nodes):
            file.write(f'{{"type": "Person", "data": {{"name": "p{n}", "age": {n % 90}}}}}\n')
        for n in range(edges):
            file.write(
                f'{{"edge": "Knows", "from": "p{n % nodes}", "to": "p{n * 7_919 % nodes}", '
                f'"data": {{"since": {n % 70}}}}}\n'
            )


def load_beside_a_writer(spark: SparkSession, place: Path, nodes: int, edges: int) -> list[Stage]:
    """Load while a writer makes five commits a second; what came of both."""
    graph = init_graph(place / "g.omni", SCHEMA, durability="process")
    write_input(place / "in.ndjson", nodes, edges)
    stop = place / "stop"
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, graph.uri, str(stop), "0.2"],
        stdout=subprocess.PIPE,
        env=os.environ,
        text=True,
    )
    try:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "begun\n"
        loaded = pipeline.load(
            graph, place / "in.ndjson", mode="merge", spark=spark, message="load"
        )
    finally:
        stop.touch()
        told, _ = writer.communicate(timeout=120)
    assert writer.returncode == 0
    require_all_there(open_graph(graph.uri), nodes, edges, int(told))
    assert isinstance(loaded, pipeline.SparkLoadResult)
    return list(loaded.stages)


def require_all_there(graph: Graph, nodes: int, edges: int, written: int) -> None:
    messages: list[str | None] = []
    wanted = CommitFilter()
    while True:
        page = graph.commits.list(wanted)
        messages += [commit.message for commit in page.commits]
        if page.next_page_token is None:
            break
        wanted = CommitFilter(page_token=page.next_page_token)
    assert messages.count("load") == 1
    assert messages.count("writer") == written
    status = graph.status()
    assert (status.nodes, status.edges) == (nodes + written, edges + written)
    # The load and the writer both say something of one person: the last commit counts.
    [row] = graph.query('query q() { match { $p: Person { name: "p7" } } return { $p.age as a } }')
    assert row["a"] == (7 if messages[0] == "load" else 1_000 + written - 1)
    require_whole(graph.engine)


def test_a_load_beside_a_writer_that_never_pauses_publishes_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    load_beside_a_writer(spark, tmp_path, nodes=2_000, edges=4_000)


@pytest.mark.slow
def test_a_load_of_a_minute_beside_five_commits_a_second_publishes_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    stages = load_beside_a_writer(spark, tmp_path, nodes=1_000_000, edges=4_000_000)
    told = ", ".join(f"{stage.name} {stage.seconds:.1f} s" for stage in stages)
    print(f"{sum(stage.seconds for stage in stages):.0f} s: {told}")


def test_whoever_looks_after_what_others_left_leaves_a_running_load_alone(
    spark: SparkSession, tmp_path: Path
) -> None:
    graph = init_graph(tmp_path / "g.omni", SCHEMA, durability="process")
    write_input(tmp_path / "in.ndjson", 200, 400)
    seen: list[int] = []

    def watch(stage: Stage) -> None:
        if stage.name == "stage" and stage.done and not seen:
            # It is announced while it stages.
            seen.append(len(open_graph(graph.uri, read_only=True).recoveries.pending()))
            # Whoever writes looks first after what others left behind.
            open_graph(graph.uri).load({"Person": [{"name": "w"}]}, mode="append")

    pipeline.load(graph, tmp_path / "in.ndjson", mode="append", spark=spark, watch=watch)
    assert seen == [1]
    again = open_graph(graph.uri)
    assert not again.recoveries.pending()
    assert again.status().nodes == 201
    require_whole(again.engine)
