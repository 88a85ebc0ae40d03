"""The server as a process: it is killed, stopped and started again, and loses nothing."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import httpx
import pytest

import omnigraph

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOKEN = "a-token-that-no-log-may-show"  # noqa: S105 - of servers that live for seconds
ADD = "query add($n: String) { insert Person { name: $n } }"
ALL = "query all() { match { $p: Person } return { $p.name } }"
G = "/graphs/people"
WRITERS = 4


@pytest.fixture
def people(tmp_path: Path) -> Path:
    place = tmp_path / "people.omni"
    omnigraph.init(place, "node Person { name: String @key }", durability="process").close()
    return place


class Process:
    """One ``omnigraph serve``."""

    def __init__(self, place: Path, log: Path, *arguments: str) -> None:
        command = [sys.executable, "-m", "omnigraph", "serve", str(place), "--bind", "127.0.0.1:0"]
        kept = {key: value for key, value in os.environ.items() if "OMNIGRAPH_" not in key}
        with log.open("ab") as stderr:
            self.process = subprocess.Popen(
                [*command, *arguments],
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                env={**kept, "OMNIGRAPH_SERVER_BEARER_TOKEN": TOKEN},
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("OMNIGRAPH_LISTEN_ADDR=127.0.0.1:"), log.read_text()
        self.url = f"http://{line.strip().partition('=')[2]}"

    def client(self) -> httpx.Client:
        return httpx.Client(
            base_url=self.url, timeout=30, headers={"Authorization": f"Bearer {TOKEN}"}
        )

    def end(self, how: signal.Signals) -> int:
        assert self.process.stdout is not None
        self.process.send_signal(how)
        code = self.process.wait(60)
        self.process.stdout.close()
        return code


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "server.log"


@contextlib.contextmanager
def crowd(server: Process, turn: int, acknowledged: set[str]) -> Iterator[None]:
    """Writers that write down what they were promised, and a reader, until the server is gone."""

    def write(number: int) -> None:
        with server.client() as client, contextlib.suppress(httpx.TransportError):
            for count in range(10_000):
                name = f"{turn}-{number}-{count}"
                answer = client.post(f"{G}/mutate", json={"query": ADD, "params": {"n": name}})
                if answer.status_code != 200:
                    return
                acknowledged.add(name)

    def read() -> None:
        with server.client() as client, contextlib.suppress(httpx.TransportError):
            while client.post(f"{G}/query", json={"query": ALL}).status_code == 200:
                pass

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    threads.append(threading.Thread(target=read))
    for thread in threads:
        thread.start()
    yield
    for thread in threads:
        thread.join()


def wait_for(acknowledged: set[str], more: int) -> None:
    wanted = len(acknowledged) + more
    waiting = threading.Event()
    for _ in range(3_000):
        if len(acknowledged) >= wanted:
            return
        waiting.wait(0.01)
    raise AssertionError("nothing is being written")


def stored(place: Path) -> list[str]:
    with omnigraph.open(place) as graph:
        return [row["p.name"] for row in graph.query(ALL)]


def test_every_acknowledged_write_survives_kills_under_load(people: Path, log: Path) -> None:
    acknowledged: set[str] = set()
    for turn in range(3):
        server = Process(people, log, "--policy", "preset:team")
        with crowd(server, turn, acknowledged):
            wait_for(acknowledged, 12)
            server.end(signal.SIGKILL)
    found = stored(people)
    assert acknowledged <= set(found)
    assert len(found) == len(set(found))
    # Of those that nobody was promised there is at most one for every writer and kill.
    assert len(found) - len(acknowledged) <= 3 * WRITERS


def test_a_stop_that_was_asked_for_finishes_writes_and_exits_with_0(
    people: Path, log: Path
) -> None:
    acknowledged: set[str] = set()
    server = Process(people, log, "--policy", "preset:team")
    with crowd(server, 0, acknowledged):
        wait_for(acknowledged, 12)
        assert server.end(signal.SIGTERM) == 0
    # A write that had begun was answered: nothing is there that nobody was told of.
    assert set(stored(people)) == acknowledged


def test_logs_are_json_lines_with_request_and_actor_and_without_secrets(
    people: Path, log: Path
) -> None:
    server = Process(people, log, "--policy", "preset:team")
    with server.client() as client:
        said = {"query": ADD, "params": {"n": "private-person"}, "message": "private-message"}
        client.post(f"{G}/mutate", json=said, headers={"X-Request-Id": "find-me"})
        client.get(f"{G}/commits?actor=private-actor")
        client.get("/graphs", headers={"Authorization": "Bearer wrong-private-token"})
    assert server.end(signal.SIGTERM) == 0
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    (line,) = [each for each in lines if each.get("request_id") == "find-me"]
    assert line["actor"] == "default"
    assert (line["operation"], line["status"], line["graph"]) == ("mutate", 200, "people")
    for secret in (TOKEN, "private-person", "private-message", "private-actor", "private-token"):
        assert secret not in log.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "environment", "code"),
    [
        ([], {}, "serve.no_tokens"),
        (["--policy", "nope.yaml"], {"OMNIGRAPH_SERVER_BEARER_TOKEN": "x"}, "policy.unreadable"),
    ],
)
def test_a_server_that_makes_no_sense_does_not_start(
    people: Path, arguments: list[str], environment: dict[str, str], code: str
) -> None:
    kept = {key: value for key, value in os.environ.items() if "OMNIGRAPH_" not in key}
    done = subprocess.run(
        [sys.executable, "-m", "omnigraph", "serve", str(people), "--json", *arguments],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert json.loads(done.stdout)["code"] == code
    assert "Traceback" not in done.stderr
