"""A call is repeated where that has no second effect, and only there."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from omnigraph import errors
from omnigraph.client import connect
from omnigraph.client.address import Address
from omnigraph.client.requests import get, post
from omnigraph.client.retries import ATTEMPTS_MAX, RetryPolicy
from omnigraph.client.transport import httpx_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.api.graph import Graph

ADD = "query add($name: String) { insert Person { name: $name } }"
COUNT = "query n() { match { $p: Person } return { count($p) as n } }"
TOKEN = "correct-horse-battery-staple"  # noqa: S105 - of a server that lives for one test


class LossyLine:
    """A line to a server that hangs up instead of passing on the first replies."""

    def __init__(self, url: str, losses: int) -> None:
        host, _, port = url.removeprefix("http://").rpartition(":")
        self._server = (host, int(port))
        self._losses = losses
        self._lock = threading.Lock()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                caller = self._listening.accept()[0]
                threading.Thread(target=self._carry, args=(caller,), daemon=True).start()

    def _carry(self, caller: socket.socket) -> None:
        with caller, socket.create_connection(self._server) as server:
            threading.Thread(target=_pump, args=(caller, server), daemon=True).start()
            with contextlib.suppress(OSError):
                while reply := server.recv(65_536):
                    with self._lock:
                        lost = self._losses > 0
                        self._losses -= lost
                    if lost:
                        # Closing alone hangs up on nobody while the other thread still listens.
                        caller.shutdown(socket.SHUT_RDWR)
                        return
                    caller.sendall(reply)


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)


@contextlib.contextmanager
def lossy(url: str, losses: int) -> Iterator[str]:
    line = LossyLine(url, losses)
    try:
        yield line.url
    finally:
        line.close()


def test_a_mutation_whose_reply_is_lost_is_done_once(graph: Graph, url: str) -> None:
    before = len(graph.commits.list().commits)
    with lossy(url, 2) as line, connect(line, token=TOKEN, graph="people", timeout=20) as remote:
        done = remote.mutate(ADD, {"name": "Grace"})
    commits = graph.commits.list().commits
    assert len(commits) == before + 1
    assert done.commit is not None
    assert commits[0].id == done.commit.id
    assert done.affected_nodes == 1


def test_a_mutation_that_is_never_answered_may_have_been_done(graph: Graph, url: str) -> None:
    with lossy(url, 99) as line, connect(line, token=TOKEN, graph="people", timeout=20) as remote:
        with pytest.raises(errors.OutcomeUnknown) as caught:
            remote.mutate(ADD, {"name": "Grace"})
        key = caught.value.details["idempotency_key"]
    done = graph.mutate(ADD, {"name": "Grace"}, idempotency_key=key)
    assert len(graph.query(COUNT).rows()) == 1
    assert done.commit is not None


def test_a_load_whose_reply_is_lost_is_done_once(graph: Graph, url: str) -> None:
    line_of_data = b'{"type": "Person", "data": {"name": "Grace"}}\n'
    with lossy(url, 1) as line, connect(line, token=TOKEN, graph="people", timeout=20) as remote:
        done = remote.load(line_of_data, mode="append")
    assert done.total_nodes == 1
    assert graph.query(COUNT).rows() == [{"n": 3}]


def test_a_read_whose_reply_is_lost_is_asked_again(url: str) -> None:
    with lossy(url, 2) as line, connect(line, token=TOKEN, graph="people", timeout=20) as remote:
        assert remote.query(COUNT).rows() == [{"n": 2}]


def test_a_write_without_a_key_is_not_repeated(graph: Graph, url: str) -> None:
    with lossy(url, 1) as line, connect(line, token=TOKEN, graph="people", timeout=20) as remote:
        with pytest.raises(errors.OutcomeUnknown, match="may have succeeded"):
            remote.branches.create("dev")
        assert [each.ref.name for each in remote.branches.list()] == ["dev", "main"]
    assert len(graph.branches.list()) == 2


def test_nobody_there_is_told_as_such() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with (
        connect(url, graph="people", timeout=1) as remote,
        pytest.raises(errors.StorageFault) as caught,
    ):
        remote.query(COUNT)
    assert caught.value.code == "client.unreachable"


def test_the_deadline_travels() -> None:
    address = Address.of("http://here", "people")
    said = httpx_arguments(address, RetryPolicy.begin(get("/status"), 5))
    assert 1 <= int(said["headers"]["Omnigraph-Deadline-Ms"]) <= 5_000
    assert said["timeout"].read <= 5
    assert (
        "Omnigraph-Deadline-Ms"
        not in httpx_arguments(address, RetryPolicy.begin(get("/status"), None))["headers"]
    )


def test_waiting_grows_and_ends() -> None:
    patience = RetryPolicy.begin(get("/x"), None)
    pauses = [patience.after_failure(sent=True) for _ in range(ATTEMPTS_MAX)]
    assert pauses[-1] is None
    waited = [pause for pause in pauses if pause is not None]
    assert waited == sorted(waited)


def test_a_refusal_before_the_work_is_repeated_as_the_server_asks() -> None:
    write = post("/branches", {"name": "x"})
    patience = RetryPolicy.begin(write, 60)
    assert patience.after_refusal(503, "server.busy", {"retry-after": "2"}) == 2.0
    assert patience.after_refusal(503, "commit.outcome_unknown", {}) is None
    assert (
        RetryPolicy.begin(write, 1).after_refusal(
            429, "admission.actor_limit", {"retry-after": "60"}
        )
        is None
    )
    assert RetryPolicy.begin(get("/x"), 60).after_refusal(404, "branch.missing", {}) is None


def test_an_answer_that_has_begun_to_stream_is_not_begun_again() -> None:
    patience = RetryPolicy.begin(get("/x"), None)
    patience.streaming = True
    assert patience.after_failure(sent=True) is None
