"""Bytes before authentication, compressed bodies, and other shapes of HTTP."""

from __future__ import annotations

import gzip
import json
import socket
import sys
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.unit.server.conftest import TOKENS, G, Serve

from omnigraph.server.settings import ServerLimits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import httpx

MIB = 2**20
SMALL = ServerLimits(load_bytes_max=MIB, idle_connection_seconds=2)
NDJSON = {"Content-Type": "application/x-ndjson"}
RECORD = b'{"type": "Person", "data": {"name": "Emmy"}}\n'


def connect(client: httpx.Client) -> socket.socket:
    url = client.base_url
    return socket.create_connection((url.host, url.port or 80), timeout=20)


def exchange(client: httpx.Client, pieces: Iterable[bytes]) -> tuple[int, bytes]:
    """Send until the server answers or closes: the bytes that it took, and its answer."""
    sent = 0
    with connect(client) as line:
        try:
            for piece in pieces:
                line.sendall(piece)
                sent += len(piece)
        except OSError:
            pass
        answer = b""
        try:
            while more := line.recv(65536):
                answer += more
        except OSError:
            pass
    return sent, answer


def endless(start: bytes, piece: bytes, total: int = 64 * MIB) -> Iterator[bytes]:
    yield start
    for _ in range(total // len(piece)):
        yield piece


HEADS = {
    "one long value": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ", b"a" * 65536),
    "one long name": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", b"a" * 65536),
    "a long target": (b"GET /healthz?", b"a" * 65536),
    "many headers": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", b"X-Y: z\r\n" * 8192),
    "empty lines": (b"", b"\r\n" * 32768),
    "a trailer": (
        b"POST /graphs/people/query HTTP/1.1\r\nHost: localhost\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: ",
        b"a" * 65536,
    ),
    "a chunk extension": (
        b"POST /graphs/people/query HTTP/1.1\r\nHost: localhost\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n1;",
        b"a" * 65536,
    ),
}


@pytest.mark.parametrize("name", HEADS)
def test_bytes_that_are_no_body_are_bounded_before_authentication(serve: Serve, name: str) -> None:
    client = serve(tokens=TOKENS, limits=SMALL)
    sent, _ = exchange(client, endless(*HEADS[name]))
    # What the sockets of both sides hold is not in the server.
    assert sent < 32 * MIB
    _, answer = exchange(client, endless(*HEADS[name], total=MIB // 4))
    if name in ("one long value", "one long name", "a long target", "many headers"):
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 431 "), answer[:100]
        assert b"connection: close" in head.lower()
        assert json.loads(body)["reason"] in (
            "request.headers_too_large",
            "request.too_many_headers",
        )
    assert client.get("/healthz").status_code == 200


def test_a_request_with_too_many_headers_is_not_run(serve: Serve) -> None:
    client = serve(unauthenticated=True)
    many = {f"X-{number}": "y" for number in range(150)}
    answer = client.get("/healthz", headers=many)
    assert (answer.status_code, answer.json()["reason"]) == (431, "request.too_many_headers")
    assert client.get("/healthz", headers=dict(list(many.items())[:80])).status_code == 200


def test_a_head_that_comes_in_small_pieces_is_bounded_as_a_whole(serve: Serve) -> None:
    client = serve(tokens=TOKENS, limits=SMALL)
    pieces = endless(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ", b"a" * 100, 40_000)
    _, answer = exchange(client, pieces)
    assert answer.startswith(b"HTTP/1.1 431 ")


HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
LAST = HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
SMALL_PIPELINE = ServerLimits(pipelined_requests_max=4)


@pytest.mark.parametrize("count", [21, 300, 3000])
def test_pipelined_requests_are_answered_however_many(serve: Serve, count: int) -> None:
    client = serve(tokens=TOKENS, limits=SMALL_PIPELINE)
    _, answer = exchange(client, [HEALTH * (count - 1) + LAST])
    assert answer.count(b"HTTP/1.1 200 OK") == count


def test_pipelined_requests_behind_a_slow_one_stay_in_the_socket(serve: Serve) -> None:
    client = serve(unauthenticated=True, limits=SMALL_PIPELINE)
    body = b'{"type": "Person", "data": {"name": "Emmy"}}\n'
    slow = (
        b"POST /graphs/people/load/ndjson?mode=merge HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    with connect(client) as line:
        line.sendall(slow + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
        line.settimeout(1)
        sent = 0
        with pytest.raises(TimeoutError):
            while sent < 64 * MIB:
                # Its answers are not read, so it stops where both sockets are full.
                sent += line.send(HEALTH * 1000)
        assert sent < 32 * MIB
    assert client.get("/healthz").status_code == 200


def test_requests_before_a_malformed_one_are_answered(serve: Serve) -> None:
    client = serve(tokens=TOKENS)
    for bad in (b"nonsense\r\n\r\n", b"GET /" + b"a" * 65536):
        _, answer = exchange(client, [HEALTH * 30 + bad])
        assert answer.count(b"HTTP/1.1 200 OK") == 30
        last = answer[answer.rindex(b"HTTP/1.1 ") :]
        assert last.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 431 "))
        assert json.loads(last.partition(b"\r\n\r\n")[2])["code"] == "bad_request"


FRAMINGS = {
    "two codings": b"1.1\r\nTransfer-Encoding: gzip, chunked",
    "two headers": b"1.1\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
    "an empty coding": b"1.1\r\nTransfer-Encoding: , chunked",
    "chunked twice": b"1.1\r\nTransfer-Encoding: chunked, chunked",
    "another coding": b"1.1\r\nTransfer-Encoding: identity",
    "an older version": b"1.0\r\nTransfer-Encoding: chunked",
    "two framings": b"1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 2",
    "two lengths": b"1.1\r\nContent-Length: 2\r\nContent-Length: 3",
    "a sign": b"1.1\r\nContent-Length: +2",
}


@pytest.mark.parametrize("name", FRAMINGS)
def test_a_body_whose_end_is_uncertain_is_refused(serve: Serve, name: str) -> None:
    client = serve(unauthenticated=True)
    head = b"POST /graphs/people/query HTTP/" + FRAMINGS[name] + b"\r\nHost: localhost\r\n"
    head += b"Content-Type: application/json\r\n\r\n"
    body = b"2\r\n{}\r\n0\r\n\r\n"
    _, answer = exchange(client, [head + body + HEALTH])
    head, _, told = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 "), answer
    # Nothing that follows is taken for a request.
    assert answer.count(b"HTTP/1.1 ") == 1
    assert json.loads(told)["reason"] in ("request.malformed", "request.transfer_encoding")


def test_the_plain_chunked_coding_is_understood_in_every_case(open_server: httpx.Client) -> None:
    for coding in (b"chunked", b"Chunked", b" chunked "):
        head = b"POST /graphs/people/queries/hidden HTTP/1.1\r\nHost: localhost\r\n"
        head += b"Content-Type: application/json\r\nConnection: close\r\n"
        head += b"Transfer-Encoding:" + coding + b"\r\n\r\n"
        _, answer = exchange(open_server, [head + b"2\r\n{}\r\n0\r\n\r\n"])
        assert answer.startswith(b"HTTP/1.1 200 "), answer


UPGRADE = b"Connection: Upgrade\r\nUpgrade: h2c\r\n"


@pytest.mark.parametrize(
    "framing",
    [b"Content-Length: 2\r\n\r\n{}", b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"],
)
def test_a_request_to_upgrade_does_not_lose_its_body(
    open_server: httpx.Client, framing: bytes
) -> None:
    head = b"POST /graphs/people/queries/hidden HTTP/1.1\r\nHost: localhost\r\n"
    head += b"Content-Type: application/json\r\n"
    _, answer = exchange(open_server, [head + UPGRADE + framing + HEALTH])
    assert answer.count(b"HTTP/1.1 ") == 1
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["reason"] == "request.upgrade"


def test_a_connection_ends_after_a_request_to_upgrade(open_server: httpx.Client) -> None:
    head = HEALTH.replace(b"\r\n\r\n", b"\r\n" + UPGRADE + b"\r\n")
    _, answer = exchange(open_server, [head + HEALTH])
    assert answer.count(b"HTTP/1.1 200 ") == 1
    assert b"connection: close" in answer


def test_a_passed_deadline_is_no_error_of_the_server(
    open_server: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    names = "".join(f'{{"type": "Person", "data": {{"name": "p{i}"}}}}\n' for i in range(500))
    open_server.post(f"{G}/load/ndjson?mode=merge", content=names, headers=NDJSON)
    terms = " ".join(f"$p{i}: Person" for i in range(4))
    terms += " ".join(f" $p{i}.name < $p{i + 1}.name" for i in range(3))
    text = f"query q() {{ match {{ {terms} }} return {{ count($p0) as n }} }}"
    body = {"query": text, "budget": {"seconds": 0.2}}
    with caplog.at_level("WARNING", "omnigraph.server"):
        answer = open_server.post(f"{G}/query", json=body)
    assert (answer.status_code, answer.json()["reason"]) == (504, "query.time_limit")
    assert not caplog.records


def established(client: httpx.Client) -> int:
    """Connections that the server holds; the kernel takes over what it aborts."""
    port = f":{client.base_url.port:04X}"
    lines = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    return sum(each.split()[1].endswith(port) and each.split()[3] == "01" for each in lines)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel lists connections")
@pytest.mark.parametrize("count", [1, 40], ids=["one response", "pipelined responses"])
@pytest.mark.parametrize("kept", [True, False], ids=["kept alive", "closed"])
def test_a_client_that_does_not_read_is_given_up(serve: Serve, count: int, *, kept: bool) -> None:
    limits = ServerLimits(drain_seconds_max=0.5, idle_connection_seconds=1)
    client = serve(unauthenticated=True, limits=limits)
    names = "".join(f'{{"type": "Person", "data": {{"name": "p{i}"}}}}\n' for i in range(500))
    client.post(f"{G}/load/ndjson?mode=merge", content=names, headers=NDJSON).raise_for_status()
    text = "query q() { match { $a: Person $b: Person } return { $a.name, $b.name } limit 200000 }"
    body = json.dumps({"query": text}).encode()
    head = b"POST /graphs/people/query HTTP/1.1\r\nHost: localhost\r\n"
    if not kept:
        head += b"Connection: close\r\n"
    head += b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    with socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.connect((client.base_url.host, client.base_url.port or 80))
        line.sendall((head + body) * count)
        deadline = time.monotonic() + 30
        while established(client) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert established(client) == 0


# --- compressed bodies -----------------------------------------------------------------------


def bomb(size: int) -> bytes:
    line = b'{"type": "Person", "data": {"name": "' + b"a" * 1000 + b'"}}\n'
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return packer.compress(line * (size // len(line))) + packer.flush()


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_a_compressed_load_is_bounded_by_its_decompressed_size(
    serve: Serve, codec: str, *, announced: bool
) -> None:
    client = serve(unauthenticated=True, limits=SMALL)
    plain = zlib.decompress(bomb(32 * MIB), 31)
    body = pa.compress(plain, codec, asbytes=True) if codec == "zstd" else bomb(32 * MIB)
    assert len(body) < MIB
    said = NDJSON | ({"Content-Encoding": codec} if announced else {})
    answer = client.post(f"{G}/load/ndjson?mode=merge", content=body, headers=said)
    assert answer.status_code == 413, answer.text
    limit = answer.json()["resource_limit"]
    # It stops at the limit, not at the end.
    assert MIB < limit["actual"] < 2 * MIB
    small = gzip.compress(RECORD) if codec == "gzip" else pa.compress(RECORD, codec, asbytes=True)
    done = client.post(f"{G}/load/ndjson?mode=merge", content=small, headers=said)
    assert (done.status_code, done.json()["total_entities"]) == (200, 1)


@pytest.mark.parametrize(
    ("encoding", "body", "status"),
    [
        ("gzip, gzip", gzip.compress(gzip.compress(RECORD)), 415),
        ("gzip", gzip.compress(gzip.compress(RECORD)), 415),
        (None, gzip.compress(gzip.compress(RECORD)), 415),
        ("br", RECORD, 415),
        ("deflate", zlib.compress(RECORD), 415),
        ("gzip", RECORD, 400),
        ("zstd", gzip.compress(RECORD), 400),
        ("identity", RECORD, 200),
        ("GZIP", gzip.compress(RECORD), 200),
    ],
    ids=[
        "two encodings",
        "two layers",
        "two silent layers",
        "br",
        "deflate",
        "not gzip",
        "another one",
        "identity",
        "capitals",
    ],
)
def test_encodings_of_a_load(
    open_server: httpx.Client, encoding: str | None, body: bytes, status: int
) -> None:
    said = NDJSON | ({"Content-Encoding": encoding} if encoding else {})
    answer = open_server.post(f"{G}/load/ndjson?mode=merge", content=body, headers=said)
    assert answer.status_code == status, answer.text


def test_json_bodies_take_no_encoding(open_server: httpx.Client) -> None:
    query = {"query": "query q() { match { $p: Person } return { $p } }"}
    body = gzip.compress(json.dumps(query).encode())
    said = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    answer = open_server.post(f"{G}/query", content=body, headers=said)
    assert (answer.status_code, answer.json()["reason"]) == (415, "request.content_encoding")
