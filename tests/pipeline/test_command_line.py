"""What a person sees of a load on Spark that does not end well: words and an exit code."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from omnigraph.graph.open import init_graph, open_graph

COMMAND = [sys.executable, "-m", "omnigraph", "load", "g.omni", "--mode", "append", "--as", "me"]
SPARK = ["--engine", "spark", "--master", "local[2]", "--conf", "spark.driver.memory=1g"]


@pytest.mark.slow
def test_a_file_that_spark_cannot_read_is_told_in_words_only(tmp_path: Path) -> None:
    init_graph(tmp_path / "g.omni", "node Person { name: String @key }", durability="process")
    rows = b"n\n" + b"".join(b"x%d\n" % n for n in range(50_000))
    (tmp_path / "bad.csv.gz").write_bytes(gzip.compress(rows)[:50_000])
    into = "[{type: Person, properties: {name: n}}]"
    (tmp_path / "p.yaml").write_text(f"sources:\n  - path: bad.csv.gz\n    into: {into}\n")
    done = subprocess.run(
        [*COMMAND, *SPARK, "--mapping", "p.yaml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 1
    said = done.stderr.splitlines()
    assert [line.partition(" ")[0] for line in said] == ["omnigraph", "error", "help:"], said
    assert "bad.csv.gz cannot be read" in said[1]


@pytest.mark.slow
def test_ctrl_c_ends_a_load_and_its_java_and_leaves_nothing_half_visible(tmp_path: Path) -> None:
    init_graph(tmp_path / "g.omni", "node Person { name: String @key }", durability="process")
    with (tmp_path / "in.ndjson").open("w") as file:
        for n in range(50_000):
            file.write(f'{{"type": "Person", "data": {{"name": "p{n}"}}}}\n')
    load = [*COMMAND, *SPARK, "--data", "in.ndjson"]
    running = subprocess.Popen(
        load, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    scratch = tmp_path / "g.omni" / "_scratch"
    while not any(scratch.glob("*/*")):
        assert running.poll() is None
        time.sleep(0.02)
    # A terminal tells everybody in the foreground.
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=120)
    assert running.returncode == 130
    assert said.splitlines()[1:] == ["interrupted"]
    while members(running.pid):
        time.sleep(0.05)
    graph = open_graph(tmp_path / "g.omni")
    assert (graph.status().nodes, graph.recoveries.pending()) == (0, [])
    subprocess.run(load, cwd=tmp_path, check=True, capture_output=True, timeout=300)
    assert open_graph(tmp_path / "g.omni").status().nodes == 50_000


def members(session: int) -> list[str]:
    """The processes of a session that still do something."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, its_session = place.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(its_session) == session and state not in "ZX":
            found.append(place.parent.name)
    return found
