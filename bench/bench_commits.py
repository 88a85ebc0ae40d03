"""Commits beside the bare protocol, at their first and at their last, on one branch and on several.

The bars (issue 17): one insert at `process` within 3 times the bare protocol, at `power` within 2
times; the last commit within 1.3 times the first; alternating writes on two branches within 1.2
times writes on one; 8 processes on 8 branches at 0.9 times the rate of 8 separate graphs.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bench.bare_commits import BareGraph
from bench.harness import Table
from omnigraph.graph.open import init_graph
from omnigraph.runtime.limits import DEFAULT_LIMITS
from omnigraph.testing.contention import write_side_by_side
from omnigraph.testing.kit import new_engine
from omnigraph.testing.processes import ProcessGroup, Script, step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from omnigraph.graph.facade import EmbeddedGraph

SCHEMA = """
node Person {
    name: String @key
    age: I32?
    city: String?
}
edge Knows: Person -> Person { since: I32? }
"""
INSERT = 'query q($n: String) { insert Person { name: $n, age: 1, city: "x" } }'
EDGE = "query q($a: String, $b: String) { insert Knows { from: $a, to: $b } }"
UPDATE = "query q($n: String) { update Person set { age: 99 } where name = $n }"
DELETE = "query q($n: String) { delete Person where name = $n }"

ROUNDS = int(os.environ.get("OMNIGRAPH_BENCH_ROUNDS", "60"))
HISTORY = int(os.environ.get("OMNIGRAPH_BENCH_COMMITS", "2000"))
PROCESSES, WRITES = 8, 25


def run(part: str | None = None) -> Iterator[Table | str]:
    """All parts, or one of them."""
    if part is not None and part not in _PARTS:
        raise SystemExit(f"no part {part!r} of commits; there are {', '.join(_PARTS)}")
    for name, measure in _PARTS.items():
        if part in (None, name):
            home = Path(tempfile.mkdtemp(prefix="omnigraph-bench-"))
            try:
                yield from measure(home)
            finally:
                shutil.rmtree(home, ignore_errors=True)


def _single(home: Path) -> Iterator[Table]:
    """One row at a time; the two in turns, so that both see the same machine."""
    for level, bar in (("process", 3.0), ("power", 2.0)):
        bare = BareGraph(home / f"bare-{level}", power=level == "power")
        graph = init_graph(home / f"graph-{level}", SCHEMA, durability=level)
        keys = [f"k{number}" for number in range(500)]
        bare.insert(keys)
        graph.load({"Person": [{"name": key} for key in keys]}, mode="append")
        for name, (floor, product) in _acts(bare, graph).items():
            took: dict[str, list[float]] = {"floor": [], "product": []}
            for number in range(ROUNDS):
                took["floor"].append(_seconds(floor, number))
                took["product"].append(_seconds(product, number))
            table = Table(f"{name}, durability {level}", "bare protocol")
            baseline = statistics.median(took["floor"][5:])
            table.add("bare protocol", baseline)
            table.add("omnigraph", statistics.median(took["product"][5:]), aim=bar * baseline)
            yield table


def _acts(
    bare: BareGraph, graph: EmbeddedGraph
) -> dict[str, tuple[Callable[[int], object], Callable[[int], object]]]:
    """Each act in both: on entities of their own, by number."""
    return {
        "insert": (
            lambda n: bare.insert([f"new{n}"]),
            lambda n: graph.mutate(INSERT, {"n": f"new{n}"}),
        ),
        "update": (
            lambda n: bare.update(f"k{n}"),
            lambda n: graph.mutate(UPDATE, {"n": f"k{n}"}),
        ),
        "delete": (
            lambda n: bare.delete(f"k{200 + n}"),
            lambda n: graph.mutate(DELETE, {"n": f"k{200 + n}"}),
        ),
        "insert an edge": (
            lambda n: bare.insert([f"edge{n}"]),
            lambda n: graph.mutate(EDGE, {"a": f"k{n}", "b": f"k{n + 1}"}),
        ),
    }


def _growth(home: Path) -> Iterator[Table]:
    graph = init_graph(home / "graph", SCHEMA, durability="process")
    took = [
        _seconds(lambda n: graph.mutate(INSERT, {"n": f"p{n}"}), number)
        for number in range(HISTORY)
    ]
    files = sum(len(names) for _, _, names in os.walk(home))
    first = statistics.median(took[20:220])
    table = Table(
        f"insert over {HISTORY} commits ({files / HISTORY:.2f} files each)", "the first 200"
    )
    table.add("the first 200", first)
    table.add("the last 200", statistics.median(took[-200:]), aim=1.3 * first)
    yield table


def _alternating(home: Path) -> Iterator[Table]:
    one, two = (init_graph(home / name, SCHEMA, durability="process") for name in ("one", "two"))
    two.branches.create("dev")
    took: dict[str, list[float]] = {"one": [], "two": []}
    for number in range(4 * ROUNDS):
        took["one"].append(_seconds(partial(_insert, one, branch="main"), number))
        branch = "main" if number % 2 else "dev"
        took["two"].append(_seconds(partial(_insert, two, branch=branch), number))
    baseline = statistics.median(took["one"][10:])
    table = Table("alternating writes on two branches", "one branch")
    table.add("one branch", baseline)
    table.add("two branches", statistics.median(took["two"][10:]), aim=1.2 * baseline)
    yield table


def _insert(graph: EmbeddedGraph, number: int, *, branch: str) -> object:
    return graph.mutate(INSERT, {"n": f"p{number}"}, branch=branch)


def _processes(home: Path) -> Iterator[Table | str]:
    seen = write_side_by_side(home / "shared", processes=PROCESSES, writes=WRITES)
    apart = _separate_graphs(home)
    table = Table(f"{PROCESSES} processes, {WRITES} commits each, p50", "a graph of their own each")
    table.add("a graph of their own each", apart)
    table.add("branches of one table", seen.median_seconds, aim=apart / 0.9)
    yield table
    yield f"{seen.at_once:.0%} of {len(seen.tries)} commits with one table commit and one publish"


def _separate_graphs(home: Path) -> float:
    with ProcessGroup() as group:
        children = []
        for number in range(PROCESSES):
            path = home / f"own{number}"
            new_engine(path)
            adds = [step("add_counted", ids={"Person": [f"{number}-{n}"]}) for n in range(WRITES)]
            steps = (step("open", counted=True), step("wait"), *adds)
            children.append(group.start(Script(str(path), steps, limits=DEFAULT_LIMITS)))
        for child in children:
            child.go()
        outcomes = [outcome for child in children for outcome in child.join()]
    return statistics.median(each.seconds for each in outcomes if each.step.verb == "add_counted")


def _seconds(action: Callable[[int], object], number: int) -> float:
    started = time.perf_counter()
    action(number)
    return time.perf_counter() - started


_PARTS: dict[str, Callable[[Path], Iterator[Table | str]]] = {
    "single": _single,
    "growth": _growth,
    "alternating": _alternating,
    "processes": _processes,
}
