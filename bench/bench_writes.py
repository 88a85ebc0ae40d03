"""Writes beside the Lance calls that they need: loading, single writes, and many writers at once.

The bars (issue "Writes"): a load from JSON lines with all checks within 2 times the bare load from
Parquet; single inserts, updates and deletes within 2 times the bare calls plus the swap of a
manifest, and within 1.5 times of themselves as tables and history grow.
"""

from __future__ import annotations

import itertools
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
import pyarrow.parquet as pq

from bench.harness import Table, put_object
from bench.shared import data_of, import_peer, peers_home
from omnigraph.graph.open import init_graph
from omnigraph.testing.processes import ProcessGroup, Script, step
from omnigraph.versioning.manifest import encode_manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from omnigraph.graph.facade import EmbeddedGraph

# One run of the whole is minutes; a smaller size is enough to see a regression.
SIZES = tuple(os.environ.get("OMNIGRAPH_BENCH_SIZES", "S M").split())
LOADS = 5
WRITERS = 50
HISTORY = 1_000
ROWS = (10_000, 1_000_000)
TURNS = 30

SCHEMA = """
node Person {
    name: String @key
    age: I32?
    city: String?
}
edge Knows: Person -> Person { since: I32? }
"""
INSERT = 'query q($n: String) { insert Person { name: $n, age: 1, city: "Bonn" } }'
EDGE = "query q($a: String, $b: String) { insert Knows { from: $a, to: $b } }"
UPDATE = "query q($n: String) { update Person set { age: 99 } where name = $n }"
DELETE = "query q($n: String) { delete Person where name = $n }"


def run(part: str | None = None) -> Iterator[Table | str]:
    """All parts, or one of them: the whole takes a quarter of an hour."""
    if part is not None and part not in _PARTS:
        raise SystemExit(f"no part {part!r} of writes; there are {', '.join(_PARTS)}")
    for name, measure in _PARTS.items():
        if part in (None, name):
            home = Path(tempfile.mkdtemp(prefix="omnigraph-bench-"))
            try:
                yield from measure(home)
            finally:
                shutil.rmtree(home, ignore_errors=True)


# --- W1: loads -----------------------------------------------------------------------------------


def _loads(home: Path) -> Iterator[Table | str]:
    if peers_home() is None:
        yield "loads: skipped, there is no shared harness; set OMNIGRAPH_PEERS"
        return
    for size in SIZES:
        yield _load(home, size)
    yield _memory(home, SIZES[-1])


def _load(home: Path, size: str) -> Table:
    """In turns, so that both see the same machine."""
    bare = import_peer("peers_lance_raw").LanceRaw
    mine = _omnigraph()
    data = str(data_of(size))
    took: dict[str, list[float]] = {"bare": [], "mine": []}
    for _ in range(LOADS):
        for name, adapter in (("bare", bare), ("mine", mine)):
            path = home / name
            shutil.rmtree(path, ignore_errors=True)
            system = adapter(data, str(path))
            took[name].append(_seconds(system.load))
            system.close()
    baseline = statistics.median(took["bare"])
    table = Table(f"W1 load, size {size}", "bare Lance from Parquet")
    table.add("bare Lance from Parquet", baseline)
    table.add("JSON lines, all checks", statistics.median(took["mine"]), aim=2 * baseline)
    return table


def _omnigraph() -> Any:
    from bench.peers_omnigraph import OmniGraph  # noqa: PLC0415 - needs the shared harness

    return OmniGraph


def _memory(home: Path, size: str) -> str:
    """The peak of a process that loads, above what it needs before, beside the data in Arrow."""
    data = data_of(size)
    arrow = sum(pq.read_table(path).nbytes for path in data.glob("*.parquet"))
    # A child inherits the peak that getrusage tells of; the kernel's own mark begins anew.
    script = (
        "import re, sys; from pathlib import Path; from bench.peers_omnigraph import OmniGraph\n"
        "import lance\n"
        "status = Path('/proc/self/status')\n"
        "kib = lambda: int(re.search(r'VmHWM:\\s*(\\d+)', status.read_text())[1])\n"
        "before = kib(); OmniGraph(sys.argv[1], sys.argv[2]).load(); print(kib() - before)"
    )
    command = [sys.executable, "-c", script, str(data), str(home / "memory")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    peak = int(done.stdout) * 1024
    return (
        f"W1 memory, size {size}: {peak / 2**20:.0f} MiB above the start, "
        f"{peak / arrow:.2f} times the {arrow / 2**20:.0f} MiB of the data in Arrow; aim < 4"
    )


# --- W9, W10: single writes ----------------------------------------------------------------------


class _Bare:
    """The Lance calls of each write, and the put of a manifest behind them; at the level of power
    with a sync of every file that they made."""

    def __init__(self, home: Path, graph: EmbeddedGraph, rows: int, level: str) -> None:
        self._home, self._number = home, 0
        self._is_durable = level == "power"
        self._synced: dict[Path, set[str]] = {}
        session = lance.Session()
        names = [f"p{number}" for number in range(rows)]
        people = pa.table({"name": names, "age": pa.array([1] * rows, pa.int32()), "city": names})
        knows = pa.table({"src": names, "dst": names[::-1]})
        indexed = lance.write_dataset(people, home / "people", enable_stable_row_ids=True)
        indexed.create_scalar_index("name", "BTREE")
        indexed = lance.write_dataset(knows, home / "knows", enable_stable_row_ids=True)
        for end in ("src", "dst"):
            indexed.create_scalar_index(end, "BTREE")
        self._people = lance.dataset(home / "people", session=session)
        self._knows = lance.dataset(home / "knows", session=session)
        self._manifest = encode_manifest(graph.engine.resolver.resolve("main"))
        (home / "manifest" / "data").mkdir(parents=True)

    def insert(self, name: str) -> None:
        row = {"name": [name], "age": pa.array([1], pa.int32()), "city": ["Bonn"]}
        self._people = self._append(self._people, pa.table(row))
        self._swap()

    def insert_new(self, name: str) -> None:
        """An insert that looks whether the key is there, as it has to be for a key."""
        self._people.to_table(columns=["name"], filter=f"name = '{name}'")
        self.insert(name)

    def insert_edge(self, name: str) -> None:
        self._people.to_table(columns=["name"], filter=f"name in ('{name}', 'p0')")
        self._knows = self._append(self._knows, pa.table({"src": [name], "dst": ["p0"]}))
        self._swap()

    def update(self, name: str) -> None:
        self._people.update({"age": "99"}, where=f"name = '{name}'")
        self._swap()

    def delete(self, name: str) -> None:
        self._people.delete(f"name = '{name}'")
        self._knows.delete(f"src = '{name}' or dst = '{name}'")
        self._swap()

    def _append(self, dataset: Any, rows: pa.Table) -> Any:
        return lance.write_dataset(rows, dataset, mode="append")

    def _swap(self) -> None:
        self._number += 1
        put_object(self._home / "manifest" / "data" / f"{self._number}.json", self._manifest)
        if self._is_durable:
            for name in ("people", "knows", "manifest"):
                for part in ("data", "_deletions", "_versions"):
                    self._sync(self._home / name / part)

    def _sync(self, directory: Path) -> None:
        present = set(os.listdir(directory)) if directory.exists() else set()  # noqa: PTH208
        fresh = present - self._synced.get(directory, set())
        for path in (*(directory / name for name in fresh), *([directory] if fresh else [])):
            descriptor = os.open(path, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)
        self._synced[directory] = present


class _Mine:
    """The same writes through the facade."""

    def __init__(self, graph: EmbeddedGraph) -> None:
        self._graph = graph

    def insert(self, name: str) -> None:
        self._graph.mutate(INSERT, {"n": name})

    insert_new = insert

    def insert_edge(self, name: str) -> None:
        self._graph.mutate(EDGE, {"a": name, "b": "p0"})

    def update(self, name: str) -> None:
        self._graph.mutate(UPDATE, {"n": name})

    def delete(self, name: str) -> None:
        self._graph.mutate(DELETE, {"n": name})


def _stocked(path: Path, rows: int, level: str = "process") -> EmbeddedGraph:
    graph = init_graph(path, SCHEMA, durability=level)
    names = [f"p{number}" for number in range(rows)]
    people = pa.table({"name": names, "age": pa.array([1] * rows, pa.int32()), "city": names})
    knows = pa.table({"from": names, "to": names[::-1]})
    graph.load({"Person": people, "Knows": knows}, mode="append")
    # What maintenance does in the background.
    graph.ensure_indices()
    return graph


def _single_writes(home: Path, level: str) -> Iterator[Table]:
    verbs = ("insert", "insert_new", "insert_edge", "update", "delete")
    took: dict[tuple[str, str, int], float] = {}
    for rows in ROWS:
        place = home / f"{level}-{rows}"
        graph = _stocked(place / "graph", rows, level)
        sides = {"bare": _Bare(place, graph, rows, level), "mine": _Mine(graph)}
        for verb in verbs:
            samples: dict[str, list[float]] = {side: [] for side in sides}
            for turn in range(TURNS):
                for side, writer in sides.items():
                    known = verb not in ("insert", "insert_new")
                    name = f"p{turn + 1}" if known else f"{verb}-{side}-{turn}"
                    act = getattr(writer, verb)
                    samples[side].append(_seconds(partial(act, name)))
            for side, found in samples.items():
                took[verb, side, rows] = statistics.median(found[3:])
        shutil.rmtree(place)
    for verb in verbs:
        yield _writes_table(verb, level, took)


def _writes_table(verb: str, level: str, took: dict[tuple[str, str, int], float]) -> Table:
    small = f"bare Lance and a manifest, {ROWS[0]} rows"
    table = Table(f"{verb.replace('_', ' ')} by key, {level} level", small)
    for rows in ROWS:
        baseline = took[verb, "bare", rows]
        table.add(f"bare Lance and a manifest, {rows} rows", baseline)
        table.add(f"through the engine, {rows} rows", took[verb, "mine", rows], aim=2 * baseline)
    return table


def _history(home: Path) -> Iterator[Table]:
    """Single writes, one commit each, from the first to the last of many."""
    verbs = ("insert", "insert_edge", "update", "delete")
    for level, verb in itertools.product(("process", "power"), verbs):
        graph = _stocked(home / verb, ROWS[0], level)
        act = getattr(_Mine(graph), verb)
        names = [f"new{n}" if verb == "insert" else f"p{n + 1}" for n in range(HISTORY)]
        samples = [_seconds(partial(act, name)) for name in names]
        first, last = statistics.median(samples[5:105]), statistics.median(samples[-100:])
        title = f"{verb.replace('_', ' ')}, one commit each, {level} level"
        table = Table(title, "commits 6 to 105")
        table.add("commits 6 to 105", first)
        table.add(f"commits {HISTORY - 99} to {HISTORY}", last, aim=1.5 * first)
        yield table
        shutil.rmtree(home / verb)


# --- many writers --------------------------------------------------------------------------------


def _many_writers(home: Path) -> Iterator[Table]:
    """Time per commit: what one writer needs, and what many need who get in each other's way."""
    for layout in ("one branch", "a branch each"):
        graph = init_graph(home / layout.replace(" ", "-"), SCHEMA, durability="process")
        branches = ["main"] * WRITERS
        if layout != "one branch":
            branches = [f"b{number}" for number in range(WRITERS)]
            for branch in branches:
                graph.branches.create(branch)
        table = Table(f"time per commit, {layout}", "one thread")
        alone = _per_commit(graph, branches[:1] * WRITERS, threads=1)
        table.add("one thread", alone)
        many = _per_commit(graph, branches, threads=WRITERS)
        table.add(f"{WRITERS} threads", many, aim=alone / 0.6)
        table.add("4 processes", _per_commit_of_processes(graph, branches), aim=alone / 0.6)
        yield table


_numbers = iter(range(10**9))


def _per_commit(graph: EmbeddedGraph, branches: list[str], *, threads: int) -> float:
    def write(branch: str) -> None:
        for _ in range(2):
            graph.mutate(INSERT, {"n": f"w{next(_numbers)}"}, branch=branch)

    with ThreadPoolExecutor(threads) as pool:
        started = time.perf_counter()
        list(pool.map(write, branches))
        return (time.perf_counter() - started) / (2 * len(branches))


def _per_commit_of_processes(graph: EmbeddedGraph, branches: list[str]) -> float:
    count = 25
    with ProcessGroup() as crew:
        children = []
        for number in range(4):
            records = [
                [{"type": "Person", "data": {"name": f"c{number}-{n}"}}] for n in range(count + 1)
            ]
            loads = [step("load", records=found, branch=branches[number]) for found in records]
            script = (step("open"), loads[0], step("wait"), *loads[1:])
            children.append(crew.start(Script(graph.uri, script)))
        for child in children:
            child.next()
            child.next()
        started = time.perf_counter()
        for child in children:
            child.go()
        for child in children:
            child.join()
        return (time.perf_counter() - started) / (4 * count)


def _seconds(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


_PARTS: dict[str, Callable[[Path], Iterator[Table | str]]] = {
    "load": _loads,
    "process": lambda home: _single_writes(home, "process"),
    "power": lambda home: _single_writes(home, "power"),
    "history": _history,
    "writers": _many_writers,
}
