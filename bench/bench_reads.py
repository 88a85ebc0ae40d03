"""Reads beside plain Lance: lookups, hops, groups, and a hop with a filter and an order.

The baseline does the same by hand with pylance, Arrow and numpy, its topology in memory. Both are
asked in turns, warm, and every answer is checked. The bars (issue "Reads"): W2, W3 and W5 within
2 times the baseline, W4 within 1.5 times; a cached plan on an empty result under 200 µs.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.harness import Table, median_of
from bench.shared import data_of, import_peer, peers_home
from omnigraph.graph.open import init_graph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from omnigraph.api.graph import Graph

SIZES = tuple(os.environ.get("OMNIGRAPH_BENCH_SIZES", "S M").split())
ROUNDS = 7


@dataclass(frozen=True)
class Workload:
    """One question with its arguments and the answers that the generator knows."""

    name: str
    method: str
    arguments: Sequence[tuple[Any, ...]]
    is_right: Callable[[int, Any], bool]
    bar: float


def run() -> Iterator[Table | str]:
    home = Path(tempfile.mkdtemp(prefix="omnigraph-bench-"))
    try:
        yield _overhead(home)
        if peers_home() is None:
            yield "W2 to W5: skipped, there is no shared harness; set OMNIGRAPH_PEERS"
            return
        for size in SIZES:
            yield _beside_lance(home, size)
    finally:
        shutil.rmtree(home, ignore_errors=True)


# --- the fixed cost ------------------------------------------------------------------------------


def _overhead(home: Path) -> Table:
    """What a query costs before it reads anything."""
    schema = "node Person {\n    name: String @key\n    age: I64?\n}\nedge Knows: Person -> Person"
    text = "query q($n: String) { match { $p: Person { name: $n } } return { $p.age } }"
    hop = "query q($n: String) { match { $p: Person { name: $n }  $p knows $q } return { $q.age } }"
    with init_graph(home / "empty.omni", schema, durability="process") as graph:
        graph.load([{"name": "ada", "age": 36}], mode="append", type="Person")
        pinned = graph.at(str(graph.query(text, {"n": "ada"}).commit_id))
        table = Table("a cached plan, empty result", "json.loads of a small object")
        table.add(table.baseline, median_of(lambda: json.loads('{"n": "nobody", "x": [1, 2]}')))
        nobody = {"n": "nobody"}
        table.add("lookup", median_of(lambda: graph.query(text, nobody)), aim=200e-6)
        table.add("hop", median_of(lambda: graph.query(hop, nobody)), aim=200e-6)
        table.add("lookup, pinned", median_of(lambda: pinned.query(text, nobody)), aim=200e-6)
    return table


# --- W2 to W5 ------------------------------------------------------------------------------------


def _beside_lance(home: Path, size: str) -> str:
    data = data_of(size)
    questions = json.loads((data / "queries.json").read_text())
    bare = import_peer("peers_lance_raw").LanceRaw(str(data), str(home / f"bare-{size}"))
    mine = _omnigraph()(str(data), str(home / f"mine-{size}.omni"))
    Path(bare.path).mkdir(parents=True)
    bare.load()
    mine.load()
    _warm(mine.graph, questions)
    lines = [f"reads beside plain Lance, size {size}  (medians of {ROUNDS} rounds in turns)"]
    lines += [_compare(bare, mine, workload) for workload in _workloads(questions)]
    mine.close()
    return "\n".join(lines)


def _warm(graph: Graph, questions: dict[str, Any]) -> None:
    """The baseline has built its topology when it was loaded; so do we, before the clock runs."""
    from bench import peers_omnigraph as peer  # noqa: PLC0415 - needs the shared harness

    start = {"s": questions["hot"]["start"]}
    for text in (peer.LOOKUP, peer.HOP1, peer.HOP2, peer.HOP2_FILTER):
        graph.query(text, start, traversal="csr")


def _workloads(questions: dict[str, Any]) -> Iterator[Workload]:
    ages, slugs = questions["lookup_age"], questions["lookup"]
    hops, hot, groups = questions["hops"], questions["hot"], questions["agg"]
    starts = [(hop["start"],) for hop in hops]
    yield Workload(
        "W2 lookup", "lookup", [(slug,) for slug in slugs], lambda i, x: x == ages[slugs[i]], 2.0
    )
    for steps in (1, 2, 3):
        key, method = f"h{steps}", f"hop{steps}"
        yield Workload(f"W3 {steps}-hop", method, starts, _expects(hops, key), 2.0)
    for steps in (1, 2, 3):
        key, method = f"h{steps}", f"hop{steps}"
        yield Workload(
            f"W3 hot node {steps}-hop",
            method,
            [(hot["start"],)] * 5,
            _expects([hot] * 5, key),
            2.0,
        )
    yield Workload(
        "W4 filter and group",
        "agg",
        [()] * 3,
        lambda _, x: (
            x.keys() == groups.keys() and all(abs(x[c] - v) < 1e-3 for c, v in groups.items())
        ),
        1.5,
    )
    yield Workload(
        "W5 2-hop, filter, top 10",
        "hop2_filter",
        starts,
        lambda i, x: list(x) == hops[i]["w5"],
        2.0,
    )


def _expects(answers: Sequence[dict[str, Any]], key: str) -> Callable[[int, Any], bool]:
    return lambda place, found: found == answers[place][key]


def _compare(bare: Any, mine: Any, workload: Workload) -> str:
    systems = [getattr(system, workload.method) for system in (bare, mine)]
    right = all(
        workload.is_right(place, ask(*arguments))
        for ask in systems
        for place, arguments in enumerate(workload.arguments)
    )
    times: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for ask, taken in zip(systems, times, strict=True):
            for arguments in workload.arguments:
                started = time.perf_counter()
                ask(*arguments)
                taken.append(time.perf_counter() - started)
    baseline, ours = (statistics.median(taken) * 1e3 for taken in times)
    ratio = ours / baseline
    verdict = "WRONG ANSWERS" if not right else "" if ratio <= workload.bar else "over the bar"
    return (
        f"  {workload.name:<26} {baseline:9.4f} ms  {ours:9.4f} ms  {ratio:6.2f}x"
        f"   bar {workload.bar:g}x  {verdict}"
    ).rstrip()


def _omnigraph() -> Any:
    from bench.peers_omnigraph import OmniGraph  # noqa: PLC0415 - needs the shared harness

    return OmniGraph
