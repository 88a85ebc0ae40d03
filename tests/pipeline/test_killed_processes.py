"""Processes that die: executors are replaced, a dead driver leaves nothing half visible.

Each case is a program of its own, because it has a Spark of its own to lose.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from omnigraph.graph.open import init_graph, open_graph
from omnigraph.testing.verify import require_whole

if TYPE_CHECKING:
    from omnigraph import Graph

SCHEMA = """
node Person { name: String @key }
edge Knows: Person -> Person { @key(src, dst) }
"""
ROWS = 3_000
PROGRAM = """
import json, os, resource, signal, sys
from pathlib import Path

def die_once(mark):
    try:
        Path(mark).touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)

def main(uri, case):
    if case == "full":
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
    from omnigraph import pipeline
    from omnigraph.graph.open import open_graph
    from omnigraph.pipeline import spark_load
    from omnigraph.pipeline.job import staging
    if case == "executors":
        here = str(Path(uri).parent)
        read, stage = spark_load.read_split, staging._stage_bundle
        def read_or_die(reading, split):
            answer = read(reading, split)
            die_once(here + "/read")
            return answer
        def stage_or_die(site, item):
            answer = stage(site, item)
            die_once(here + "/staged")
            return answer
        spark_load.read_split, staging._stage_bundle = read_or_die, stage_or_die
    conf = {"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "1g",
            "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"}
    spark = pipeline.open_session(pipeline.SparkOptions("local[2,4]", None, conf))
    spark.sparkContext.setLogLevel("OFF")
    graph = open_graph(uri)
    done = pipeline.load(graph, str(Path(uri).parent / "*.ndjson"), mode="append", spark=spark)
    print(json.dumps(done.to_json()))
    spark.stop()

if __name__ == "__main__":
    main(*sys.argv[1:])
"""


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = init_graph(tmp_path / "g.omni", SCHEMA, durability="process")
    for part in range(2):
        with (tmp_path / f"{part}.ndjson").open("w") as file:
            for n in range(part * ROWS, (part + 1) * ROWS):
                file.write(f'{{"type": "Person", "data": {{"name": "person number {n}"}}}}\n')
                file.write(
                    f'{{"edge": "Knows", "from": "person number {n}", '
                    f'"to": "person number {n * 7 % (2 * ROWS)}"}}\n'
                )
    (tmp_path / "program.py").write_text(PROGRAM)
    return graph


def run(graph: Graph, case: str, **environment: str) -> subprocess.CompletedProcess[str]:
    directory = Path(graph.uri).parent
    return subprocess.run(
        [sys.executable, directory / "program.py", graph.uri, case],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def counts(graph: Graph) -> tuple[int, int]:
    status = graph.status()
    assert status.nodes is not None
    assert status.edges is not None
    return status.nodes, status.edges


def test_killed_executors_are_replaced_and_leave_only_orphans(graph: Graph) -> None:
    done = run(graph, "executors")
    assert done.returncode == 0, done.stderr
    directory = Path(graph.uri).parent
    assert (directory / "read").exists()
    assert (directory / "staged").exists()
    again = open_graph(graph.uri)
    assert counts(again) == (2 * ROWS, 2 * ROWS)
    assert len(again.commits.list().commits) == 2
    require_whole(again.engine)


def test_a_driver_killed_between_two_tables_leaves_nothing_half_visible(graph: Graph) -> None:
    done = run(graph, "driver", OMNIGRAPH_FAULT="attempt.table_committed=kill")
    assert done.returncode == -signal.SIGKILL, done.stderr
    # Read-only: nothing is repaired by looking.
    looked_at = open_graph(graph.uri, read_only=True)
    assert counts(looked_at) == (0, 0)
    assert looked_at.recoveries.pending()
    again = open_graph(graph.uri)
    assert counts(again) in ((0, 0), (2 * ROWS, 2 * ROWS))
    require_whole(again.engine)


@pytest.mark.slow
def test_a_full_disk_is_an_error_and_nothing_is_visible(graph: Graph) -> None:
    done = run(graph, "full")
    assert done.returncode != 0
    assert "StorageFault" in done.stderr or "omnigraph.errors" in done.stderr
    again = open_graph(graph.uri)
    assert counts(again) == (0, 0)
    assert len(again.commits.list().commits) == 1
    require_whole(again.engine)
