"""Web pages and an unauthenticated server: DNS rebinding, forms, preflights, odd hosts."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest
from tests.unit.server.conftest import TOKENS, G, Serve, bearer

from omnigraph.errors import InvalidInput
from omnigraph.server.origins import Origins
from omnigraph.server.serve import ServeRequest, warn_of_exposure

if TYPE_CHECKING:
    import httpx

INVOKE = f"{G}/queries/hidden"


def raw(client: httpx.Client, request: bytes) -> bytes:
    url = client.base_url
    with socket.create_connection((url.host, url.port or 80), timeout=20) as line:
        line.sendall(request)
        return line.recv(65536)


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


OWN = ["localhost", "LocalHost", "localhost.", "localhost:1", "127.0.0.1", "127.9.9.9:80"]
OWN += ["[::1]", "[::1]:8080", "a.localhost"]
FOREIGN = ["evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example"]
FOREIGN += ["203.0.113.1", "[2001:db8::1]", "", "localhost@evil.example", "evil.example#localhost"]
FOREIGN += ["localhost:port", "[::1", "[::1]evil", "[::1]evil:80", "[::1].evil.example", "::1"]
FOREIGN += [
    "loc\talhost",
    "[::1%evil.example]",
    "127.0.0.1%evil",
    "localhost:80:80",
    "localhost:+1",
]
FOREIGN += [".localhost", "a..localhost", "<b>.localhost", "a'b.localhost", "localhost:99999"]


@pytest.mark.parametrize("host", OWN)
def test_an_open_server_answers_under_the_names_of_this_machine(
    still_server: httpx.Client, host: str
) -> None:
    assert still_server.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", FOREIGN)
def test_an_open_server_does_not_answer_under_other_names(
    still_server: httpx.Client, host: str
) -> None:
    for path in ("/healthz", f"{G}/branches", "/openapi.json"):
        answer = still_server.get(path, headers={"Host": host})
        assert (answer.status_code, answer.json()["reason"]) == (403, "request.host_refused")


@pytest.mark.parametrize(
    "said",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},
        {"Origin": "http://127.0.0.1.evil.example"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "Cross-Site"},
        {"Sec-Fetch-Site": "SAME-SITE"},
        {"Sec-Fetch-Site": "cross-site, none"},
        {"Sec-Fetch-Site": "of-a-later-standard"},
        {"Sec-Fetch-Site": ""},
    ],
)
def test_a_page_of_another_origin_invokes_no_stored_mutation(
    open_server: httpx.Client, said: dict[str, str]
) -> None:
    before = open_server.get(f"{G}/branches").json()["heads"]
    for path in (f"{G}/queries/add_person", f"{G}/mutate", f"{G}/load/ndjson?mode=overwrite"):
        answer = open_server.post(path, headers=said)
        assert (answer.status_code, answer.json()["reason"]) == (403, "request.origin_refused")
    assert open_server.get(f"{G}/branches").json()["heads"] == before


def test_a_page_of_the_server_itself_may_call_it(open_server: httpx.Client) -> None:
    url = str(open_server.base_url).rstrip("/")
    for origin in (url, url.upper(), url.replace("http:", "https:")):
        assert open_server.post(INVOKE, headers={"Origin": origin}).status_code == 200
    for site in ("same-origin", "Same-Origin", "none"):
        assert open_server.post(INVOKE, headers={"Sec-Fetch-Site": site}).status_code == 200


def test_listed_hosts_and_origins_are_answered_with_cors(serve: Serve) -> None:
    client = serve(
        unauthenticated=True,
        allowed_hosts=["graph.example"],
        allowed_origins=["https://app.example"],
    )
    said = {"Host": "Graph.Example:8080", "Origin": "https://app.example"}
    answer = client.get(f"{G}/branches", headers=said)
    assert answer.status_code == 200
    assert answer.headers["Access-Control-Allow-Origin"] == "https://app.example"
    assert answer.headers["Vary"] == "Origin"
    asked = {**said, "Access-Control-Request-Method": "POST"}
    preflight = client.options(f"{G}/mutate", headers=asked)
    assert preflight.status_code == 204
    assert "POST" in preflight.headers["Access-Control-Allow-Methods"]
    assert "content-type" in preflight.headers["Access-Control-Allow-Headers"].lower()
    other = client.options(f"{G}/mutate", headers={**asked, "Origin": "https://evil.example"})
    assert other.status_code == 403
    assert "Access-Control-Allow-Origin" not in other.headers
    failed = client.get(f"{G}/commits/nope", headers=said)
    assert failed.headers["Access-Control-Allow-Origin"] == "https://app.example"


def test_a_server_with_tokens_answers_under_every_name(serve: Serve) -> None:
    client = serve(tokens=TOKENS)
    said = {**bearer("ada"), "Host": "graph.example", "Origin": "https://app.example"}
    answer = client.get(f"{G}/branches", headers=said)
    assert answer.status_code == 200
    assert "Access-Control-Allow-Origin" not in answer.headers


def test_the_host_of_the_target_counts(still_server: httpx.Client) -> None:
    close = b"Host: localhost\r\nConnection: close\r\n\r\n"
    assert status(raw(still_server, b"GET http://evil.example/healthz HTTP/1.1\r\n" + close)) == 403
    assert status(
        raw(still_server, b"GET http://localhost@evil.example/healthz HTTP/1.1\r\n" + close)
    ) in (400, 403)
    assert status(raw(still_server, b"GET http://localhost:9/healthz HTTP/1.1\r\n" + close)) == 200


@pytest.mark.parametrize(
    ("head", "wanted"),
    [
        (b"GET /healthz HTTP/1.0\r\n", 200),
        (b"GET /healthz HTTP/1.0\r\nHost: evil.example\r\n", 403),
        (b"GET /healthz HTTP/1.1\r\nConnection: close\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n", 400),
        (
            b"GET /healthz HTTP/1.1\r\nHost: evil.example\r\nConnection: Upgrade\r\n"
            b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
            403,
        ),
        (b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n", 404),
    ],
)
def test_other_versions_and_shapes_of_requests(
    still_server: httpx.Client, head: bytes, wanted: int
) -> None:
    assert status(raw(still_server, head + b"\r\n")) == wanted


def test_trailers_are_no_headers(open_server: httpx.Client) -> None:
    answer = raw(
        open_server,
        b"POST /graphs/people/queries/hidden HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
        b"Connection: close\r\n\r\n2\r\n{}\r\n0\r\nHost: evil.example\r\nOrigin: null\r\n\r\n",
    )
    assert status(answer) == 200, answer


def test_a_wildcard_address_is_every_address_and_no_name() -> None:
    wide, narrow = Origins("0.0.0.0"), Origins("203.0.113.5")  # noqa: S104 - nothing is bound
    assert wide._is_own("198.51.100.3:80")
    assert wide._is_own("[2001:db8::1]")
    assert not wide._is_own("evil.example")
    assert narrow._is_own("203.0.113.5")
    assert not narrow._is_own("203.0.113.6")
    assert Origins("2001:DB8:0::1")._is_own("[2001:db8:0:0::1]:80")


@pytest.mark.parametrize("origin", ["app.example", "https://app.example/path", "ftp://x", "*"])
def test_an_origin_that_is_none_does_not_start(origin: str) -> None:
    with pytest.raises(InvalidInput, match="not an origin"):
        Origins("127.0.0.1", origins=[origin])


@pytest.mark.parametrize(
    ("bind", "unauthenticated", "warned"),
    [
        ("0.0.0.0:80", True, True),
        ("[::]:80", True, True),
        ("203.0.113.5:80", True, True),
        ("127.0.0.1:80", True, False),
        ("[::1]:80", True, False),
        ("localhost:80", True, False),
        ("0.0.0.0:80", False, False),
    ],
)
def test_an_open_server_on_the_network_warns(
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    bind: str,
    *,
    unauthenticated: bool,
    warned: bool,
) -> None:
    with caplog.at_level("WARNING", "omnigraph.server"):
        warn_of_exposure(ServeRequest(["g"], bind=bind, unauthenticated=unauthenticated))
    assert ("WARNING" in capsys.readouterr().err) is warned
    assert bool(caplog.records) is warned
