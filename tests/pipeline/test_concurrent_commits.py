"""A long load beside others who never pause: it publishes once, and everybody's rows are there."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

import lance
import pytest

from omnigraph import pipeline
from omnigraph.api.commit_listing import CommitFilter
from omnigraph.errors import Conflict
from omnigraph.graph.open import init_graph, open_graph
from omnigraph.testing.verify import require_whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from omnigraph.graph.facade import EmbeddedGraph
    from omnigraph.pipeline.spark.progress import Stage

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
# Runs Lance's own cleanup over all tables, again and again; it knows neither pins nor loads.
CLEANER = """
import sys
from datetime import timedelta
from pathlib import Path
import lance

root, stop, unverified = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "True"
removed = turns = 0
while not stop.exists():
    for place in [*root.glob("nodes/*"), *root.glob("edges/*")]:
        done = lance.dataset(place).cleanup_old_versions(
            older_than=timedelta(0), delete_unverified=unverified
        )
        removed += done.old_versions
    turns += 1
    if turns == 1:
        print("begun", flush=True)
print(removed)
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


def require_all_there(graph: EmbeddedGraph, nodes: int, edges: int, written: int) -> None:
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


def sums(graph: EmbeddedGraph) -> tuple[int, int]:
    """What a reader of the head finds in the files of both tables."""
    [ages] = graph.query("query q() { match { $p: Person } return { sum($p.age) as n } }")
    snapshot = graph.engine.snapshot("main")
    [knows] = snapshot.catalog.edges
    read = snapshot.table(knows.id).batches(["id", "since"])
    return ages["n"] or 0, sum(batch.num_rows for batch in read)


def test_beside_a_foreign_cleanup_a_load_publishes(spark: SparkSession, tmp_path: Path) -> None:
    """By default Lance removes unreferenced files only once they are a week old. A cleanup that
    removes younger ones destroys committed data as well: see the known gaps of the invariants."""
    graph = init_graph(tmp_path / "g.omni", SCHEMA, durability="process")
    write_input(tmp_path / "in.ndjson", 2_000, 4_000)
    for turn in range(3):
        graph.load({"Person": [{"name": "p7", "age": turn}]}, mode="merge")
    stop = tmp_path / "stop"
    cleaner = subprocess.Popen(
        [sys.executable, "-c", CLEANER, graph.uri, str(stop), "False"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert cleaner.stdout is not None
        assert cleaner.stdout.readline() == "begun\n"
        for message in ("one", "two"):
            pipeline.load(graph, tmp_path / "in.ndjson", mode="merge", spark=spark, message=message)
    finally:
        stop.touch()
        told, _ = cleaner.communicate(timeout=120)
    assert cleaner.returncode == 0
    assert int(told) == 0, "it finds no old version: they are detached"
    again = open_graph(graph.uri)
    loaded = sum(commit.message is not None for commit in again.commits.list().commits)
    ages = sum(n % 90 for n in range(2_000)) if loaded else 2
    assert sums(again) == (ages, 4_000 * loaded)
    assert loaded == 2


def test_a_load_whose_staged_files_a_foreign_cleanup_took_is_refused_and_can_be_repeated(
    spark: SparkSession, tmp_path: Path
) -> None:
    graph = init_graph(tmp_path / "g.omni", SCHEMA, durability="process")
    write_input(tmp_path / "in.ndjson", 200, 400)

    def clean(stage: Stage) -> None:
        if stage.name == "stage" and stage.done:
            for place in (tmp_path / "g.omni" / "edges").iterdir():
                lance.dataset(place).cleanup_old_versions(
                    older_than=timedelta(0), delete_unverified=True
                )

    def load(watch: Callable[[Stage], None] | None) -> None:
        pipeline.load(graph, tmp_path / "in.ndjson", mode="append", spark=spark, watch=watch)

    with pytest.raises(Conflict, match=r"the staged file .* is gone") as refused:
        load(clean)
    assert refused.value.code == "table.staged_missing"
    again = open_graph(graph.uri)
    assert (sums(again), again.recoveries.pending()) == ((0, 0), [])
    load(None)
    assert sums(open_graph(graph.uri))[1] == 400
