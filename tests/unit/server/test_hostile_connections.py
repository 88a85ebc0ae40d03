"""Bytes before authentication, compressed bodies, and other shapes of HTTP."""

from __future__ import annotations

import gzip
import json
import socket
import zlib
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


def test_many_pipelined_requests_do_not_pile_up(serve: Serve) -> None:
    client = serve(tokens=TOKENS)
    one = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = one.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    _, answer = exchange(client, [one * 20 + last])
    assert answer.count(b"HTTP/1.1 200 OK") == 21
    _, answer = exchange(client, [one * 6000])
    assert answer.count(b"HTTP/1.1 200 OK") < 200
    assert client.get("/healthz").status_code == 200


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
