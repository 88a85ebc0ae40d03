"""The pipeline on Spark, beside what Spark does with the same data and no graph.

The bars (issue "The data pipeline on Spark"): a load of JSON lines with all checks within 3 times
parsing the same files and writing them as Parquet; reading a table within 2 times reading the same
from Parquet, one column of it within 2.5 times, a selective condition at least 5 times faster than
none; an upsert of 100k rows within 4 times their append.

``OMNIGRAPH_BENCH_SPARK`` names the parts to run, ``OMNIGRAPH_BENCH_EDGES`` the number of edges;
there is a fifth as many nodes. Files and the loaded graph are kept for the next run.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.harness import Table
from omnigraph import pipeline
from omnigraph.graph.open import init_graph, open_graph
from omnigraph.pipeline.spark.session import SparkOptions, open_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from omnigraph import Graph

PARTS = os.environ.get("OMNIGRAPH_BENCH_SPARK", "load read upsert scaling").split()
EDGES = int(os.environ.get("OMNIGRAPH_BENCH_EDGES", "5_000_000"))
NODES = EDGES // 5
WARM_EDGES = 50_000
UPSERT = 100_000
FILES = 8
HOME = Path(os.environ.get("OMNIGRAPH_BENCH_DATA", Path(tempfile.gettempdir()) / "omnigraph-bench"))

SCHEMA = """
node Person {
    name: String @key
    age: I32? @range(0..150)
    city: String?
}
edge Knows: Person -> Person {
    since: I32?
    weight: F64?
}
"""
_NODE = "type string, data struct<name string, age int, city string>"
_EDGE = "edge string, `from` string, to string, data struct<since int, weight double>"


def run() -> Iterator[Table | str]:
    data = _data()
    for part in PARTS:
        yield from {"load": _load, "read": _read, "upsert": _upsert, "scaling": _scaling}[part](
            data
        )


# --- data --------------------------------------------------------------------------------------


def _data(edges: int = EDGES) -> Path:
    """JSON lines of edges and a fifth as many nodes, made once."""
    home, nodes = HOME / f"spark-{edges}", edges // 5
    if (home / "done").exists():
        return home
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    for part in range(FILES):
        with (home / f"nodes-{part}.ndjson").open("w") as file:
            file.writelines(_node(n) for n in range(part, nodes, FILES))
        with (home / f"edges-{part}.ndjson").open("w") as file:
            file.writelines(_edge(n, nodes) for n in range(part, edges, FILES))
    (home / "done").touch()
    return home


def _node(n: int) -> str:
    return (
        f'{{"type": "Person", "data": {{"name": "person-{n}", "age": {n % 90}, '
        f'"city": "city {n % 997}"}}}}\n'
    )


def _edge(n: int, nodes: int) -> str:
    source, target = n % nodes, n * 7_919 % nodes
    return (
        f'{{"edge": "Knows", "from": "person-{source}", "to": "person-{target}", '
        f'"data": {{"since": {1_950 + n % 70}, "weight": {n % 1_000 / 1_000}}}}}\n'
    )


def _session(master: str = "local[2]") -> SparkSession:
    spark = open_session(SparkOptions(master=master))
    spark.sparkContext.setLogLevel("OFF")
    spark.range(2).mapInArrow(lambda batches: batches, "id bigint").count()
    return spark


def _fresh(name: str) -> Graph:
    place = HOME / name
    shutil.rmtree(place, ignore_errors=True)
    return init_graph(place, SCHEMA)


def _loaded(data: Path) -> Graph:
    """The graph of all files; kept from an earlier part or run."""
    place = data / "loaded.omni"
    if not (place / "_graph.json").exists():
        graph = init_graph(place, SCHEMA)
        pipeline.load(graph, str(data / "*.ndjson"), mode="append", spark=_session())
    return open_graph(place)


def _timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def _median(action: Callable[[], object], runs: int = 3) -> float:
    action()
    return statistics.median(_timed(action) for _ in range(runs))


# --- parts -------------------------------------------------------------------------------------


def _load(data: Path) -> Iterator[Table | str]:
    spark = _session()
    out = HOME / "parquet"

    def parse(data: Path = data) -> None:
        shutil.rmtree(out, ignore_errors=True)
        for kind, schema in (("nodes", _NODE), ("edges", _EDGE)):
            rows = spark.read.schema(schema).json(str(data / f"{kind}-*.ndjson"))
            rows.write.parquet(str(out / kind))

    # Both sides once with little, so that neither is the first job of its kind.
    little = _data(WARM_EDGES)
    parse(little)
    pipeline.load(_fresh("warm.omni"), str(little / "*.ndjson"), mode="append", spark=spark)
    baseline = _timed(parse)
    shutil.rmtree(data / "loaded.omni", ignore_errors=True)
    graph = init_graph(data / "loaded.omni", SCHEMA)
    done: list[Any] = []

    def load() -> None:
        done.append(pipeline.load(graph, str(data / "*.ndjson"), mode="append", spark=spark))

    table = Table(f"load of {NODES:,} nodes and {EDGES:,} edges", "parse, write Parquet")
    table.add("parse, write Parquet", baseline)
    table.add("load, all checks, one commit", _timed(load), aim=3 * baseline)
    yield table
    stages = ", ".join(f"{stage.name} {stage.seconds:.1f} s" for stage in done[0].stages)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield f"  stages: {stages}; driver (Python) at most {peak:,.0f} MiB"


def _read(data: Path) -> Iterator[Table]:
    spark = _session()
    graph = _loaded(data)
    pipeline.register(spark)
    plain = str(data / "knows.parquet")
    if not Path(plain).exists():
        _frame(spark, graph).write.parquet(plain)

    def drain(frame: DataFrame) -> None:
        frame.write.format("noop").mode("overwrite").save()

    rows = graph.status().edges or 0
    whole = _median(lambda: drain(spark.read.parquet(plain)))
    table = Table(f"read of {rows:,} edges into nothing", "Parquet")
    table.add("Parquet", whole)
    ours = _median(lambda: drain(_frame(spark, graph)))
    table.add("omnigraph", ours, aim=2 * whole)
    yield table
    one = _median(lambda: drain(spark.read.parquet(plain).select("since")))
    table = Table("one column", "Parquet")
    table.add("Parquet", one)
    table.add(
        "omnigraph", _median(lambda: drain(_frame(spark, graph, columns="since"))), aim=2.5 * one
    )
    yield table
    few = _median(lambda: drain(_frame(spark, graph, where="$it.weight = 0.123")))
    table = Table("a condition that one row in a thousand meets", "no condition")
    table.add("no condition", ours)
    table.add("where", few, aim=ours / 5)
    yield table


def _frame(spark: SparkSession, graph: Graph, **options: str) -> DataFrame:
    return spark.read.format("omnigraph").options(type="Knows", **options).load(graph.uri)


def _upsert(data: Path) -> Iterator[Table | str]:
    """Into a table of as many rows as there are edges, with an index on the id."""
    spark = _session()
    place = data / "upsert.omni"
    if not (place / "_graph.json").exists():
        graph = init_graph(place, SCHEMA)
        people = spark.range(EDGES).selectExpr("concat('person-', id) AS name", "1 AS age")
        pipeline.load(graph, {"Person": people}, mode="append")
        graph.ensure_indices(force=True)
    graph = open_graph(place)
    count = graph.status().nodes or 0

    def rows(first: int, step: int) -> DataFrame:
        numbers = spark.range(first, first + UPSERT * step, step)
        return numbers.selectExpr("concat('person-', id) AS name", "2 AS age")

    def load(frame: DataFrame, mode: str) -> float:
        """On a branch of its own, so that every load meets the same table."""
        graph.branches.create("bench")
        took = _timed(lambda: pipeline.load(graph, {"Person": frame}, mode=mode, branch="bench"))
        graph.branches.delete("bench")
        return took

    new, old = rows(count, 1), rows(0, max(1, EDGES // UPSERT))
    load(new, "append")
    append = statistics.median(load(new, "append") for _ in range(3))
    upsert = statistics.median(load(old, "merge") for _ in range(3))
    table = Table(f"{UPSERT:,} rows into {count:,}", "append")
    table.add("append", append)
    table.add("upsert", upsert, aim=4 * append)
    yield table


def _scaling(data: Path) -> Iterator[Table | str]:
    """One and two executors, each a process of one core; and all of it on a single core.

    An executor is a JVM with its Python workers, whose Arrow and Lance have threads of their own:
    how many cores were busy tells how much of a second one there was left to win.
    """
    runs = {
        "1 executor, one core for all": ("local-cluster[1,1,1536]", 1),
        "1 executor": ("local-cluster[1,1,1536]", None),
        "2 executors": ("local-cluster[2,1,1536]", None),
    }
    took = {name: _apart(master, data, cores) for name, (master, cores) in runs.items()}
    table = Table(f"load of {EDGES:,} edges on executors of one core", "1 executor")
    for name in ("1 executor", "1 executor, one core for all", "2 executors"):
        table.add(name, took[name]["seconds"])
    yield table
    for name, told in took.items():
        stages = ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in told["stages"].items())
        yield f"  {name}: {stages}; {told['busy']:.2f} cores busy"


def _apart(master: str, data: Path, cores: int | None) -> dict[str, Any]:
    """A load in a process of its own, with all that it starts on some cores."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "bench.bench_spark",
            master,
            str(data),
            *([str(cores)] * bool(cores)),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def _load_once(master: str, data: str, cores: str | None = None) -> dict[str, Any]:
    if cores is not None:
        _pin(int(cores))
    spark = _session(master)
    little = _data(WARM_EDGES)
    pipeline.load(_fresh("warm.omni"), str(little / "*.ndjson"), mode="append", spark=spark)
    graph, done = _fresh("scaling.omni"), list[Any]()

    def load() -> None:
        done.append(pipeline.load(graph, f"{data}/*.ndjson", mode="append", spark=spark))

    before = _busy_seconds()
    seconds = _timed(load)
    return {
        "seconds": seconds,
        "stages": {stage.name: stage.seconds for stage in done[0].stages},
        "busy": (_busy_seconds() - before) / seconds,
    }


def _pin(cores: int) -> None:
    """Keep this process on some cores, with the threads that imports have started; what it starts
    inherits that. Whoever pins a child from outside forks, and Lance warns of forks."""
    chosen = sorted(os.sched_getaffinity(0))[:cores]
    for thread in Path("/proc/self/task").iterdir():
        os.sched_setaffinity(int(thread.name), chosen)


def _busy_seconds() -> float:
    """How long the cores of this machine have been busy, together."""
    user, nice, system = Path("/proc/stat").read_text().split()[1:4]
    return (int(user) + int(nice) + int(system)) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    print(json.dumps(_load_once(*sys.argv[1:])))
