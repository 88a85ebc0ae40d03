"""The server beside the embedded call: point queries, writers on branches, policy decisions.

Server and client are one process each, on loopback; the client speaks plain HTTP/1.1 over sockets
that stay open, so that it does not measure itself. The bars (issue "The server"): 1,500 point
queries a second, p99 under 4 times p50, at most 1.5 ms over the embedded call, 50 writers on 50
branches, 1,000 policy decisions a second in 20 % of a core.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.harness import Table, median_of
from omnigraph.graph.open import init_graph, open_graph, open_policy
from omnigraph.policy.actions import Action
from omnigraph.policy.questions import AuthorizationRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA = "node Person {\n    name: String @key\n    age: I64?\n}\nedge Knows: Person -> Person"
POINT = "query q($n: String) { match { $p: Person { name: $n } } return { $p.name, $p.age } }"
INSERT = "query q($n: String) { insert Person { name: $n } }"
PEOPLE = 10_000
SECONDS = float(os.environ.get("OMNIGRAPH_BENCH_SECONDS", "4"))
CONNECTIONS = (1, 8, 32)
WRITERS = 50
TOKEN = "bench"  # noqa: S105 - of a server that lives for seconds


def run() -> Iterator[Table | str]:
    home = Path(tempfile.mkdtemp(prefix="omnigraph-bench-"))
    try:
        place = home / "people.omni"
        with init_graph(place, SCHEMA, durability="process") as graph:
            rows = [{"name": f"p{n}", "age": n % 90} for n in range(PEOPLE)]
            graph.load(rows, mode="append", type="Person")
        yield _decisions()
        for policy in (None, "preset:team"):
            with _served(place, policy) as address:
                yield _points(place, address, policy)
        with _served(place, "preset:team") as address:
            yield asyncio.run(_writers(address))
    finally:
        shutil.rmtree(home, ignore_errors=True)


# --- point queries -------------------------------------------------------------------------------


def _points(place: Path, address: tuple[str, int], policy: str | None) -> str:
    with open_graph(place, read_only=True) as graph:
        numbers = iter(range(10**9))

        def embedded() -> object:
            return graph.query(POINT, {"n": f"p{next(numbers) % PEOPLE}"}).to_json()

        base = median_of(embedded)
    lines = [
        f"point query over HTTP, {PEOPLE:,} people, policy {policy or 'none'}",
        f"  embedded, JSON included   {base * 1e3:.3f} ms",
    ]
    for connections in CONNECTIONS:
        times = asyncio.run(_ask(address, connections))
        rate = len(times) / SECONDS
        p50, p99 = statistics.median(times), statistics.quantiles(times, n=100)[98]
        bars = ", over embedded " + (
            f"{(p50 - base) * 1e3:.3f} ms (bar 1.5)"
            if connections == 1
            else f"n/a; {rate:,.0f}/s (bar 1,500)"
        )
        lines.append(
            f"  {connections:>2} connections   {rate:>7,.0f}/s   p50 {p50 * 1e3:.3f} ms   "
            f"p99 {p99 * 1e3:.3f} ms   p99/p50 {p99 / p50:.2f} (bar 4){bars}"
        )
    return "\n".join(lines)


async def _ask(address: tuple[str, int], connections: int) -> list[float]:
    times: list[float] = []
    end = time.perf_counter() + SECONDS + 0.5
    counted_from = time.perf_counter() + 0.5

    async def one(number: int) -> None:
        line = await _connect(address)
        asked = number
        while time.perf_counter() < end:
            asked += connections
            name = f"p{asked % PEOPLE}"
            start = time.perf_counter()
            status, body = await _post(line, "query", {"query": POINT, "params": {"n": name}})
            took = time.perf_counter() - start
            if status != 200 or name.encode() not in body:
                raise RuntimeError(f"{status}: {body[:200]!r}")
            if start >= counted_from:
                times.append(took)
        line[1].close()

    await asyncio.gather(*(one(number) for number in range(connections)))
    return times


# --- writers -------------------------------------------------------------------------------------


async def _writers(address: tuple[str, int]) -> str:
    async def make(number: int) -> None:
        line = await _connect(address)
        status, body = await _post(line, "branches", {"name": f"w{number}"})
        if status != 200:
            raise RuntimeError(body)
        line[1].close()

    for number in range(WRITERS):
        await make(number)

    async def write(number: int) -> int:
        line = await _connect(address)
        status = 0
        for turn in range(3):
            while True:
                said = {
                    "query": INSERT,
                    "params": {"n": f"w{number}-{turn}"},
                    "branch": f"w{number}",
                }
                status, _ = await _post(line, "mutate", said)
                if status != 429:
                    break
                # One actor may have 16 writes in flight; whoever is told so waits a little.
                await asyncio.sleep(0.05)
            if status != 200:
                return status
        return status

    start = time.perf_counter()
    found = await asyncio.gather(*(write(number) for number in range(WRITERS)))
    took = time.perf_counter() - start
    good = sum(status == 200 for status in found)
    return (
        f"{WRITERS} writers on {WRITERS} branches, 3 writes each\n"
        f"  {good} of {WRITERS} succeeded, {3 * WRITERS / took:,.0f} commits/s, {took:.2f} s in all"
    )


# --- policy --------------------------------------------------------------------------------------


def _decisions() -> Table:
    policy = open_policy("preset:team")
    assert policy is not None
    decider = policy._engine  # noqa: SLF001 - what is measured is the asking itself
    numbers = iter(range(10**9))

    def fresh() -> object:
        question = AuthorizationRequest("ada", Action.CHANGE, "g", branch=f"b{next(numbers)}")
        return decider.decide(question)

    known = AuthorizationRequest("ada", Action.CHANGE, "g", branch="main")
    table = Table("a policy decision; 1,000 a second in 20 % of a core are 200 µs each", "by Cedar")
    table.add("by Cedar", median_of(fresh), aim=200e-6)
    table.add("asked before", median_of(lambda: policy.decide(known)), aim=200e-6)
    return table


# --- the two processes ---------------------------------------------------------------------------


@contextlib.contextmanager
def _served(place: Path, policy: str | None) -> Iterator[tuple[str, int]]:
    command = [sys.executable, "-m", "omnigraph", "serve", str(place), "--bind", "127.0.0.1:0"]
    command += ["--log-level", "warning"]
    command += ["--policy", policy] if policy else ["--unauthenticated"]
    environment = dict(os.environ)
    if policy:
        environment["OMNIGRAPH_SERVER_BEARER_TOKEN"] = TOKEN
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        host, _, port = line.partition("=")[2].rpartition(":")
        yield host, int(port)
    finally:
        process.terminate()
        process.wait(60)


_Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _connect(address: tuple[str, int]) -> _Line:
    return await asyncio.open_connection(*address)


async def _post(line: _Line, path: str, said: dict[str, Any]) -> tuple[int, bytes]:
    reader, writer = line
    body = json.dumps(said).encode()
    writer.write(
        f"POST /graphs/people/{path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        + body
    )
    head = await reader.readuntil(b"\r\n\r\n")
    status = int(head[9:12])
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    return status, await reader.readexactly(length)
