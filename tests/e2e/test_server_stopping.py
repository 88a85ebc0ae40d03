"""A server that is asked to stop ends, whatever its threads do; a used port is reported."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from typing import TYPE_CHECKING

import httpx
import pytest

import omnigraph

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

G = "/graphs/people"
# A few hundred bytes that occupy a planner which is exponential in nested blocks.
NESTED = (
    "query q() { match { $p: Person "
    + "".join(f"exists {{ $p knows $x{i} " for i in range(11))
    + "}" * 11
    + " } return { count($p) as n } }"
)
# Serves one operation whose thread never returns.
STUCK = textwrap.dedent(
    """
    import sys, threading
    from omnigraph.server.app import Server, choose_access
    from omnigraph.server.listening import bind_sockets
    from omnigraph.server.operations import operation
    from omnigraph.server.registry import GraphList
    from omnigraph.server.routes import OPERATIONS
    from omnigraph.server.serve import serve_until_stopped
    from omnigraph.server.settings import ServerLimits
    from omnigraph.server.tokens import read_tokens

    @operation("GET", "/stuck", public=True)
    async def stuck(exchange):
        "Never answers."
        pool = exchange.service.pools.writes
        await pool.start(threading.Event().wait)

    server = Server(
        GraphList([]),
        tokens=read_tokens({}),
        access=choose_access(tokens=False, policy=False, unauthenticated=True),
        limits=ServerLimits(shutdown_seconds=1, shutdown_cancel_seconds=0.5),
        operations=(*OPERATIONS, stuck),
    )
    bind = "127.0.0.1:0"
    serve_until_stopped(server, bind_sockets(bind), bind, lambda line: print(line, flush=True))
    """
)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    place = tmp_path / "people.omni"
    schema = "node Person { name: String @key }\nedge Knows: Person -> Person"
    with omnigraph.init(place, schema, durability="process") as graph:
        lines = "".join(f'{{"type": "Person", "data": {{"name": "p{i}"}}}}\n' for i in range(50))
        graph.load(lines.encode(), mode="append")
    return place


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[str]]]:
    running: list[subprocess.Popen[str]] = []
    yield running
    for each in running:
        each.kill()
        each.communicate()


def start(running: list[subprocess.Popen[str]], *command: str) -> tuple[subprocess.Popen[str], str]:
    kept = {key: value for key, value in os.environ.items() if "OMNIGRAPH_" not in key}
    process = subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=kept,
    )
    running.append(process)
    assert process.stdout is not None
    line = process.stdout.readline()
    return process, f"http://{line.strip().partition('=')[2]}"


def serve(running: list[subprocess.Popen[str]], place: Path) -> tuple[subprocess.Popen[str], str]:
    said = ("--bind", "127.0.0.1:0", "--unauthenticated")
    return start(running, "-m", "omnigraph", "serve", str(place), *said)


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_thread_that_never_returns_does_not_keep_the_process(
    started: list[subprocess.Popen[str]], stop: signal.Signals
) -> None:
    process, url = start(started, "-c", STUCK)
    line = socket.create_connection((url.rpartition(":")[0][7:], int(url.rpartition(":")[2])))
    line.sendall(b"GET /stuck HTTP/1.1\r\nHost: localhost\r\n\r\n")
    metrics = ""
    while 'writes"} 1' not in metrics:
        metrics = httpx.get(f"{url}/metrics").text
    process.send_signal(stop)
    assert process.wait(30) == 1
    line.close()


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_the_process_at_once(
    started: list[subprocess.Popen[str]], stop: signal.Signals
) -> None:
    process, url = start(
        started, "-c", STUCK.replace("shutdown_seconds=1", "shutdown_seconds=3600")
    )
    line = socket.create_connection((url.rpartition(":")[0][7:], int(url.rpartition(":")[2])))
    line.sendall(b"GET /stuck HTTP/1.1\r\nHost: localhost\r\n\r\n")
    metrics = ""
    while 'writes"} 1' not in metrics:
        metrics = httpx.get(f"{url}/metrics").text
    while process.poll() is None:
        process.send_signal(stop)
        time.sleep(0.2)
    assert process.wait(30) == 1
    line.close()


def test_four_nested_requests_stop_nothing(
    people: Path, started: list[subprocess.Popen[str]]
) -> None:
    process, url = serve(started, people)
    answers: list[httpx.Response] = []

    def ask() -> None:
        said = {"Omnigraph-Deadline-Ms": "5000"}
        answers.append(
            httpx.post(f"{url}{G}/query", json={"query": NESTED}, headers=said, timeout=60)
        )

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for each in threads:
        each.start()
    assert httpx.get(f"{url}/healthz", timeout=30).status_code == 200
    for each in threads:
        each.join(60)
    assert {answer.status_code for answer in answers} <= {200, 504}
    assert len(answers) == 4
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


def test_a_used_port_is_reported_in_one_line(people: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        bind = f"127.0.0.1:{taken.getsockname()[1]}"
        command = [sys.executable, "-m", "omnigraph", "serve", str(people), "--bind", bind]
        done = subprocess.run(
            [*command, "--unauthenticated"], capture_output=True, text=True, timeout=60, check=False
        )
    assert done.returncode == 1
    assert done.stderr.startswith("error [serve.cannot_bind] cannot listen on")
    assert "Address already in use" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
