"""The start of the command line: version, help, and the first query beside bare Lance."""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import omnigraph
from bench.harness import Table, median_of_process, run_process

if TYPE_CHECKING:
    from collections.abc import Iterator

PEOPLE = 1_000
TURNS = 15
QUERY = "query q() { match { $p: Person } return { $p.name as name, $p.age as age } }"
SCHEMA = "node Person {\n    name: String @key\n    age: I32?\n}\n"
# What anybody would write to read these rows without us.
BARE = """\
import sys
import lance
rows = lance.dataset(sys.argv[1]).to_table(columns=["name", "age"]).to_pylist()
print(len(rows))
"""


def run() -> Iterator[Table]:
    yield _starts()
    home = Path(tempfile.mkdtemp(prefix="omnigraph-bench-"))
    try:
        yield _first_query(home)
    finally:
        shutil.rmtree(home)


def _starts() -> Table:
    table = Table("start of the command line", "python -c pass")
    table.add("python -c pass", median_of_process([sys.executable, "-c", "pass"]))
    table.add("omnigraph --version", median_of_process([_program(), "--version"]), aim=0.060)
    table.add("omnigraph --help", median_of_process([_program(), "--help"]), aim=0.150)
    table.add("omnigraph query --help", median_of_process([_program(), "query", "--help"]))
    return table


def _first_query(home: Path) -> Table:
    """In turns, so that both see the same machine."""
    place = home / "people.omni"
    with omnigraph.init(place, SCHEMA, durability="process") as graph:
        people = [{"name": f"person {n}", "age": n % 90} for n in range(PEOPLE)]
        graph.load(people, mode="append", type="Person")
    dataset = next((place / "nodes").iterdir())
    columns = graph.catalog.nodes[0].properties
    script = BARE.replace('"name"', f'"{columns[0].column}"').replace(
        '"age"', f'"{columns[1].column}"'
    )
    bare = [sys.executable, "-c", script, str(dataset)]
    ours = [_program(), "query", "-e", QUERY, "--store", str(place), "--format", "jsonl"]
    times: dict[str, list[float]] = {"bare": [], "ours": []}
    # Once for nothing: an installed package has its bytecode, and the disk knows both.
    run_process(bare), run_process(ours)
    for _ in range(TURNS):
        times["bare"].append(run_process(bare))
        times["ours"].append(run_process(ours))
    baseline = statistics.median(times["bare"])
    table = Table(f"first query, {PEOPLE} rows, as a process", "bare Python with Lance")
    table.add("bare Python with Lance", baseline)
    table.add("omnigraph query", statistics.median(times["ours"]), aim=1.5 * baseline)
    return table


def _program() -> str:
    return str(Path(sys.executable).with_name("omnigraph"))
