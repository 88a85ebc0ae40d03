"""Where Spark may run: a cluster in processes of its own, a standalone one, a Connect server.

Each case is a program of its own. Executors find the package as the page on Spark says: it is in
their Python, or on the path that they are given.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest

from omnigraph.graph.open import init_graph, open_graph
from omnigraph.pipeline.spark.java import find_java
from omnigraph.testing.verify import require_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).resolve().parents[2] / "src"
SCHEMA = """
node Person {
    name: String @key
    age: I32?
}
edge Knows: Person -> Person { @key(src, dst) }
"""
PROGRAM = """
import sys
from omnigraph import pipeline
from omnigraph.graph.open import open_graph
from pathlib import Path

BEFORE
if __name__ == "__main__":
    uri, kind, where = sys.argv[1:]
    path = {"spark.executorEnv.PYTHONPATH": SOURCE} if kind == "master" else {}
    conf = {"spark.sql.shuffle.partitions": "2", **path, **CONF}
    spark = pipeline.open_session(pipeline.SparkOptions(**{kind: where}, conf=conf))
    pipeline.register(spark)
    graph = open_graph(uri)
    here = Path(uri).parent
    loaded = pipeline.load(graph, str(here / "*.ndjson"), mode="append", spark=spark)
    assert loaded.load.total_entities == 400, loaded
    people = spark.read.format("omnigraph").option("type", "Person").load(uri)
    assert people.where("age < 10").count() == 10
    more = people.limit(3).selectExpr("concat(name, '!') AS name", "age")
    more.write.format("omnigraph").mode("append").option("type", "Person").save(uri)
    pipeline.load(graph, {"Person": more.selectExpr("concat(name, '!') AS name")}, mode="merge")
    pipeline.export(graph, str(here / "out"), format="parquet", spark=spark)
    spark.stop()
    print("done")
"""


# The first to stage the people is slow, once it has staged them. Spark gives the task to another.
SLOW = """
from omnigraph.pipeline.job import staging
import time

stage = staging._stage_bundle
HERE = Path(sys.argv[1]).parent

def stage_slowly(site, item):
    answer = stage(site, item)
    if item[1].sources[0].piece.count and "nodes/" in item[1].pin.path:
        try:
            (HERE / "slow").touch(exist_ok=False)
        except FileExistsError:
            (HERE / "again").touch()
        else:
            time.sleep(600)
    return answer

staging._stage_bundle = stage_slowly
CONF = {"spark.speculation": "true", "spark.speculation.quantile": "0.5",
        "spark.speculation.multiplier": "1.1", "spark.speculation.interval": "100ms",
        "spark.speculation.minTaskRuntime": "1s"}

"""


def run(directory: Path, kind: str, where: str, before: str = "CONF = {}\n") -> None:
    uri = directory / "g.omni"
    init_graph(uri, SCHEMA, durability="process")
    for part in range(2):
        lines = []
        for n in range(part * 100, (part + 1) * 100):
            lines.append(f'{{"type": "Person", "data": {{"name": "p{n}", "age": {n}}}}}\n')
            lines.append(f'{{"edge": "Knows", "from": "p{n}", "to": "p{n * 7 % 200}"}}\n')
        (directory / f"{part}.ndjson").write_text("".join(lines))
    program = directory / "program.py"
    text = PROGRAM.replace("SOURCE}", f'"{SOURCE}"}}').replace("BEFORE", before)
    program.write_text(text)
    done = subprocess.run(
        [sys.executable, program, uri, kind, where],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    assert done.stdout.strip().endswith("done")
    status = open_graph(uri).status()
    # Three were written by the data source; three more with one more mark, by a load.
    assert (status.nodes, status.edges) == (206, 200)
    assert (directory / "out" / "Person.parquet" / "part-00000.parquet").exists()


@pytest.mark.slow
def test_executors_in_processes_of_their_own(tmp_path: Path) -> None:
    run(tmp_path, "master", "local-cluster[2,1,1024]")


@pytest.mark.slow
def test_spark_connect(tmp_path: Path) -> None:
    run(tmp_path, "remote", "local[2]")


@pytest.fixture
def standalone(tmp_path: Path) -> Iterator[str]:
    """A master and two workers under different names: Spark runs no task twice on one host."""
    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "JAVA_HOME": str(find_java().home),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOG_DIR": str(tmp_path / "logs"),
        "PYSPARK_PYTHON": sys.executable,
    }
    # What the workers of a cluster have, they have from its nodes and not from us.
    environment.pop("PYTHONPATH", None)
    port = _free_port()
    url = f"spark://127.0.0.1:{port}"

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        log = (tmp_path / f"{arguments[0].rpartition('.')[2]}-{arguments[2]}.log").open("wb")
        with log:
            return subprocess.Popen(
                [home / "bin" / "spark-class", *arguments],
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=tmp_path,
            )

    package = "org.apache.spark.deploy"
    hosts, rest = ("127.0.0.1", "127.0.0.2"), ("--webui-port", "0")
    master = start(f"{package}.master.Master", "--host", hosts[0], "--port", str(port), *rest)
    size = ("--cores", "1", "--memory", "2g")
    workers = [start(f"{package}.worker.Worker", "--host", h, *size, *rest, url) for h in hosts]
    try:
        for host in hosts:
            _wait_for(tmp_path / f"Worker-{host}.log", r"Successfully registered with master")
        yield url
    finally:
        for process in (*workers, master):
            process.terminate()
            process.wait(30)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(log: Path, said: str) -> None:
    for _ in range(600):
        if re.search(said, log.read_text(errors="replace")):
            return
        time.sleep(0.1)
    raise AssertionError(log.read_text(errors="replace")[-2_000:])


@pytest.mark.slow
def test_a_standalone_cluster_whose_executors_are_given_the_package(
    tmp_path: Path, standalone: str
) -> None:
    run(tmp_path, "master", standalone)


@pytest.mark.slow
def test_of_a_task_that_spark_gives_to_two_executors_one_result_counts(
    tmp_path: Path, standalone: str
) -> None:
    run(tmp_path, "master", standalone, SLOW)
    assert (tmp_path / "slow").exists()
    assert (tmp_path / "again").exists(), "another executor has staged the same"
    require_whole(open_graph(tmp_path / "g.omni").engine)


@pytest.mark.slow
def test_a_job_that_is_submitted_runs_on_the_spark_it_is_submitted_to(tmp_path: Path) -> None:
    """The line of the page on Spark, with the ``spark-submit`` that PySpark brings."""
    uri = tmp_path / "g.omni"
    init_graph(uri, SCHEMA, durability="process")
    (tmp_path / "a.ndjson").write_text('{"type": "Person", "data": {"name": "ann"}}\n')
    environment = {
        **os.environ,
        "JAVA_HOME": str(find_java().home),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": str(SOURCE),
    }

    def call(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            arguments, env=environment, capture_output=True, text=True, check=False, timeout=300
        )

    entry = call(sys.executable, "-m", "omnigraph.cli.submit").stdout.strip()
    assert Path(entry).is_file()
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    conf = ("--conf", "spark.ui.enabled=false", "--conf", "spark.app.name=submitted")
    load = (entry, "load", uri, "--data", tmp_path / "*.ndjson", "--mode", "append")
    # It makes one stream of two: what is said on the way must not come between.
    done = call(submit, "--master", "local[1]", *conf, *load, "--json", "--quiet")
    assert done.returncode == 0, done.stderr[-3_000:]
    told = json.loads(done.stdout)
    # Nobody asked for an engine: that it was submitted says enough.
    assert (told["engine"], told["nodes"][0]["entities_loaded"]) == ("spark", 1)
    assert open_graph(uri).status().nodes == 1
