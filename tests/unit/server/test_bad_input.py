"""What callers get wrong, or try on purpose: a documented status, a typed body, no effect."""

from __future__ import annotations

import json
import socket
import time
from concurrent.futures import wait
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.unit.server.conftest import POLICY, TOKENS, G, Serve, bearer

from omnigraph.server.serve import ServeRequest, make_server, serving
from omnigraph.server.settings import ServerLimits

if TYPE_CHECKING:
    from pathlib import Path

ALL = "query all() { match { $p: Person } return { $p.name } }"
JSON = {"Content-Type": "application/json"}
NDJSON = {"Content-Type": "application/x-ndjson"}


def heads(client: httpx.Client) -> Any:
    return client.get(f"{G}/branches", headers=bearer("ada")).json()["heads"]


def raw(client: httpx.Client, data: bytes, *, seconds: float = 10) -> bytes:
    """Send bytes as they are; everything that comes back."""
    host, port = client.base_url.host, client.base_url.port
    with socket.create_connection((host, port or 80), timeout=seconds) as line:
        line.sendall(data)
        found = b""
        while more := line.recv(65_536):
            found += more
            if b"\r\n\r\n" in found and b"connection: close" not in found.lower():
                break
        return found


# --- bodies ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "request.bad_json"),
        (b"{", "request.bad_json"),
        (b"nonsense", "request.bad_json"),
        (b'{"query": "q"} trailing', "request.bad_json"),
        (b'{"query": "\xff\xfe"}', "request.bad_json"),
        (b'{"query": "\\ud800"}', "request.bad_json"),
        (b'{"query": NaN}', "request.bad_json"),
        (b"\xef\xbb\xbf{}", "request.bad_json"),
        (b'{"query": "q", "params": ' + b'{"x": ' * 50_000 + b"1" + b"}" * 50_001, None),
        (b"[]", "request.invalid"),
        (b"null", "request.invalid"),
        (b'"query"', "request.invalid"),
        (b"{}", "request.invalid"),
        (b'{"query": 1}', "request.invalid"),
        (b'{"query": null}', "request.invalid"),
        (b'{"query": "q", "params": []}', "request.invalid"),
        (b'{"query": "q", "params": {"x": 1e999}}', "request.invalid"),
        (b'{"query": "q", "limit": 3}', "request.invalid"),
        (b'{"query": "q", "actor": "root"}', "request.invalid"),
        (b'{"query": "q", "traversal": "psychic"}', "request.invalid"),
    ],
)
def test_a_body_that_does_not_fit_is_400(
    still_server: httpx.Client, body: bytes, reason: str | None
) -> None:
    answer = still_server.post(f"{G}/query", content=body, headers=JSON)
    assert answer.status_code == 400
    said = answer.json()
    assert said["code"] == "bad_request"
    assert reason is None or said["reason"] == reason
    assert said["request_id"] == answer.headers["x-request-id"]
    assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    "kind", [None, "text/plain", "application/x-ndjson", "multipart/form-data"]
)
def test_another_media_type_is_415(still_server: httpx.Client, kind: str | None) -> None:
    headers = {} if kind is None else {"Content-Type": kind}
    for path in ("query", "mutate", "branches", "load"):
        answer = still_server.post(f"{G}/{path}", content=b"{}", headers=headers)
        assert answer.status_code == 415, path
    answer = still_server.post(f"{G}/load/ndjson", content=b"{}", headers=JSON)
    assert answer.status_code == 415


def test_a_charset_beside_the_media_type_is_fine(still_server: httpx.Client) -> None:
    said = {"Content-Type": "Application/JSON; charset=utf-8"}
    body = json.dumps({"query": ALL}).encode()
    assert still_server.post(f"{G}/query", content=body, headers=said).status_code == 200


def test_a_body_where_none_belongs_is_400(still_server: httpx.Client) -> None:
    answer = still_server.request("GET", f"{G}/branches", content=b'{"x": 1}', headers=JSON)
    assert answer.status_code == 400
    assert answer.json()["reason"] == "request.unexpected_body"


def test_an_oversized_body_is_refused_by_its_length_and_while_it_is_read(
    still_server: httpx.Client,
) -> None:
    body = json.dumps({"query": "q" * (2 * 2**20)}).encode()
    announced = still_server.post(f"{G}/query", content=body, headers=JSON)
    assert announced.status_code == 413
    assert announced.json()["resource_limit"]["limit"] == 2**20

    def chunks() -> Any:
        for start in range(0, len(body), 65_536):
            yield body[start : start + 65_536]

    streamed = still_server.post(f"{G}/query", content=chunks(), headers=JSON)
    assert streamed.status_code == 413
    assert still_server.get(f"{G}/branches").status_code == 200


def test_a_body_of_records_may_be_longer_than_other_bodies(still_server: httpx.Client) -> None:
    # Longer than a query may be, and wrong in its last record: it is read, and changes nothing.
    line = json.dumps({"type": "Person", "data": {"name": "x" * 1_000}}) + "\n"
    records = line * 1_500 + '{"type": "Nonsense", "data": {}}\n'
    answer = still_server.post(f"{G}/load", json={"data": records, "mode": "merge"})
    assert answer.status_code == 400
    assert "Nonsense" in answer.text


def test_huge_parameters_are_refused_or_answered_typed(still_server: httpx.Client) -> None:
    query = "query q($n: String) { match { $p: Person { name: $n } } return { $p.name } }"
    for value, status in (("x" * 500_000, 200), (10**400, 400), ([[[]]], 400), ({}, 400)):
        answer = still_server.post(f"{G}/query", json={"query": query, "params": {"n": value}})
        assert answer.status_code == status, str(value)[:20]
    many = {f"p{number}": number for number in range(20_000)}
    answer = still_server.post(f"{G}/query", json={"query": query, "params": many})
    assert answer.status_code == 400


def test_a_slow_body_is_given_up(people: Path) -> None:
    limits = ServerLimits(body_idle_seconds=0.2, body_seconds_max=0.4)
    request = ServeRequest([str(people)], unauthenticated=True, limits=limits)
    with serving(make_server(request, {})) as url, httpx.Client(base_url=url) as client:
        head = f"POST {G}/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        found = raw(client, head.encode() + b"Content-Length: 100\r\n\r\n{")
        assert b" 408 " in found.split(b"\r\n")[0]
        assert b"request.slow_body" in found
        # Sending a byte now and then does not help either.
        with socket.create_connection((client.base_url.host, client.base_url.port or 80)) as line:
            line.sendall(head.encode() + b"Content-Length: 1000\r\n\r\n")
            for _ in range(8):
                line.sendall(b" ")
                time.sleep(0.1)
            assert b" 408 " in line.recv(65_536).split(b"\r\n")[0]


def test_a_load_that_trickles_in_is_given_up(people: Path) -> None:
    limits = ServerLimits(body_seconds_max=0.3, body_bytes_per_second_min=1_000)
    request = ServeRequest([str(people)], unauthenticated=True, limits=limits)
    with serving(make_server(request, {})) as url, httpx.Client(base_url=url) as client:
        head = f"POST {G}/load/ndjson HTTP/1.1\r\nHost: localhost\r\n"
        head += "Content-Type: application/x-ndjson\r\n"
        with socket.create_connection((client.base_url.host, client.base_url.port or 80)) as line:
            line.sendall(head.encode() + b"Content-Length: 1000\r\n\r\n")
            for _ in range(6):
                line.sendall(b"\n")
                time.sleep(0.1)
            assert b" 408 " in line.recv(65_536).split(b"\r\n")[0]


def test_headers_without_an_end_are_given_up(people: Path) -> None:
    limits = ServerLimits(idle_connection_seconds=1)
    request = ServeRequest([str(people)], unauthenticated=True, limits=limits)
    with serving(make_server(request, {})) as url, httpx.Client(base_url=url) as client:
        address = (client.base_url.host, client.base_url.port or 80)
        fresh, used = socket.create_connection(address), socket.create_connection(address)
        used.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert used.recv(65_536).startswith(b"HTTP/1.1 200")
        for line in (fresh, used):
            line.settimeout(0.05)
            with line:
                line.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
                assert any(is_closed_after(line, b"X: y\r\n") for _ in range(200))
        assert client.get("/healthz").status_code == 200


def is_closed_after(line: socket.socket, data: bytes) -> bool:
    try:
        line.sendall(data)
        return line.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_authorisation_comes_before_the_body(serve: Serve) -> None:
    client = serve(tokens=TOKENS, policy=POLICY)
    host, port = client.base_url.host, client.base_url.port or 80
    for token, status in (("token-of-bob", b"403"), ("nonsense", b"401")):
        with socket.create_connection((host, port), timeout=10) as line:
            line.sendall(
                f"POST {G}/load/ndjson HTTP/1.1\r\nHost: [::1]\r\nAuthorization: Bearer {token}\r\n"
                "Content-Type: application/x-ndjson\r\nContent-Length: 1000000\r\n"
                "Expect: 100-continue\r\n\r\n".encode()
            )
            # No byte of the body was sent, and none is asked for.
            found = line.recv(65_536)
            assert found.startswith(b"HTTP/1.1 " + status)
            assert b"100 Continue" not in found


# --- names and paths ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "..",
        "../main",
        "a/../b",
        "a//b",
        "/a",
        "a/",
        "ma\u0456n",  # a Cyrillic i
        "ｍａｉｎ",  # noqa: RUF001 - full width, on purpose
        "main\u200b",
        "a\x00b",
        "a b",
        "x" * 300,
        "01M7J6PPJ8KKHKYYX78B15MWDC",
        "main.lock",
        "héllo",
    ],
)
def test_a_bad_branch_name_is_400_on_every_route(still_server: httpx.Client, name: str) -> None:
    before = heads(still_server)
    for path, body in (
        ("branches", {"name": name}),
        ("mutate", {"query": ALL, "branch": name}),
        ("query", {"query": ALL, "branch": name}),
        ("load", {"data": "", "branch": name}),
        ("branches/merge", {"source": name}),
        ("schema/apply", {"schema_source": "node A { x: String }", "branch": name}),
        ("export", {"branch": name}),
        ("changes/baseline", {"branch": name}),
        ("revert", {"commit": before["main"], "branch": name}),
    ):
        answer = still_server.post(f"{G}/{path}", json=body)
        assert answer.status_code == 400, (path, answer.text)
    for path in ("snapshot", "schema", "commits", "changes"):
        answer = still_server.get(f"{G}/{path}", params={"branch": name})
        assert answer.status_code == 400, (path, answer.text)
    assert heads(still_server) == before


def test_a_padded_branch_name_is_trimmed_before_anybody_is_asked(serve: Serve) -> None:
    policy = POLICY.replace(
        "actions: [read]", "actions: [read, change]\n      branch_scope: unprotected"
    )
    client = serve(tokens=TOKENS, policy=policy)
    insert = 'query q() { insert Person { name: "Emmy" } }'
    for padded in ("main", " main", "main ", "\tmain\n"):
        answer = client.post(
            f"{G}/mutate", json={"query": insert, "branch": padded}, headers=bearer("bob")
        )
        assert answer.status_code == 403, padded
        answer = client.get(f"{G}/changes", params={"branch": padded}, headers=bearer("bob"))
        assert answer.status_code == 403, padded
    done = client.post(
        f"{G}/mutate", json={"query": insert, "branch": " review "}, headers=bearer("bob")
    )
    assert done.json()["branch"] == "review"


@pytest.mark.parametrize(
    "path",
    [
        "/graphs/../graphs/people/status",
        "/graphs/./people/status",
        "//graphs/people/status",
        "/graphs//people/status",
        "/graphs/people/status/",
        "/graphs/people%2Fstatus",
        "/graphs/%2e%2e/people/status",
        "/graphs/PEOPLE/status",
        "/graphs/people.omni/status",
        "/Graphs/people/status",
        "/graphs/people/branches/",
        "/etc/passwd",
        "/graphs/people/../../../etc/passwd",
    ],
)
def test_a_path_with_tricks_leads_nowhere(still_server: httpx.Client, path: str) -> None:
    answer = raw(
        still_server,
        f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode(),
    )
    assert answer.split(b" ")[1] in (b"404", b"405", b"400"), answer[:200]
    assert b"root:" not in answer


def test_a_path_that_is_not_utf8_is_400(still_server: httpx.Client) -> None:
    for path in ("%ff%fe", "a%00b"):
        said = f"GET /graphs/{path}/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        assert raw(still_server, said.encode()).split(b" ")[1] == b"400"


def test_an_escaped_slash_is_part_of_a_name(open_server: httpx.Client) -> None:
    open_server.post(f"{G}/branches", json={"name": "a/b"})
    assert open_server.delete(f"{G}/branches/a/b").status_code == 404
    assert open_server.delete(f"{G}/branches/a%2Fb").status_code == 200
    open_server.post(f"{G}/branches", json={"name": "merge"})
    assert open_server.delete(f"{G}/branches/merge").json()["name"] == "merge"


@pytest.mark.parametrize(
    "query",
    ["branch=main&branch=main", "limit=abc", "limit=0", "nope=1", "limit", "%zz=1", "branch=%ff"],
)
def test_a_query_string_that_does_not_fit_is_400(still_server: httpx.Client, query: str) -> None:
    said = f"GET {G}/commits?{query} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    answer = raw(still_server, said.encode())
    assert answer.split(b" ")[1] == b"400", answer


def test_an_endless_query_string_is_414(still_server: httpx.Client) -> None:
    answer = still_server.get(f"{G}/commits", params={"branch": "x" * 20_000})
    assert answer.status_code == 414


# --- headers -----------------------------------------------------------------------------------


def test_conditions_that_an_operation_does_not_know_are_refused(still_server: httpx.Client) -> None:
    body = {"query": 'query q() { insert Person { name: "Emmy" } }'}
    before = heads(still_server)
    for path, headers, reason in (
        ("mutate", {"Omnigraph-If-Graph-Commit": before["main"]}, "request.if_commit_refused"),
        ("mutate/if-graph-commit", {}, "request.if_commit_missing"),
        ("query", {"Idempotency-Key": "k"}, "request.idempotency_refused"),
    ):
        answer = still_server.post(f"{G}/{path}", json=body, headers=headers)
        assert answer.status_code == 400
        assert answer.json()["reason"] == reason
    twice = [("Omnigraph-If-Graph-Commit", before["main"])] * 2
    answer = still_server.post(f"{G}/mutate/if-graph-commit", json=body, headers=twice)
    assert answer.json()["reason"] == "request.repeated_header"
    bad = {"Omnigraph-If-Graph-Commit": '"quoted"'}
    answer = still_server.post(f"{G}/mutate/if-graph-commit", json=body, headers=bad)
    assert answer.json()["reason"] == "commit.bad_id"
    assert heads(still_server) == before


@pytest.mark.parametrize("given", ["0", "-1", "1.5", "soon", "9" * 30, ""])
def test_a_deadline_that_is_no_number_of_milliseconds_is_400(
    still_server: httpx.Client, given: str
) -> None:
    headers = {"Omnigraph-Deadline-Ms": given}
    answer = still_server.post(f"{G}/query", json={"query": ALL}, headers=headers)
    assert answer.status_code == 400


def test_a_request_id_is_echoed_only_if_it_can_stand_in_a_log(still_server: httpx.Client) -> None:
    fine = still_server.get("/healthz", headers={"X-Request-Id": "abc-123"})
    assert fine.headers["x-request-id"] == "abc-123"
    wrong = ("a b", "x" * 200, '{"level":"error"}', "a;b")
    minted = {
        still_server.get("/healthz", headers={"X-Request-Id": bad}).headers["x-request-id"]
        for bad in wrong
    }
    assert len(minted) == len(wrong)
    assert minted.isdisjoint(wrong)


def test_what_is_not_http_gets_no_trace_back(still_server: httpx.Client) -> None:
    for data in (b"\x16\x03\x01\x02\x00\x01\x00\x01", b"GET\r\n\r\n", b"\x00" * 100 + b"\r\n\r\n"):
        answer = raw(still_server, data)
        assert b"Traceback" not in answer
        assert not answer or answer.startswith(b"HTTP/1.1 400")
    smuggled = (
        f"POST {G}/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
        "Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n0\r\n\r\n"
    )
    assert raw(still_server, smuggled.encode()).split(b" ")[1] == b"400"


# --- going away --------------------------------------------------------------------------------


def test_a_load_whose_sender_goes_away_changes_nothing(open_server: httpx.Client) -> None:
    before = heads(open_server)
    host, port = open_server.base_url.host, open_server.base_url.port or 80
    with socket.create_connection((host, port)) as line:
        line.sendall(
            f"POST {G}/load/ndjson?branch=new&from=main HTTP/1.1\r\nHost: localhost\r\n"
            "Content-Type: application/x-ndjson\r\nContent-Length: 1000000\r\n\r\n".encode()
            + b'{"type": "Person", "data": {"name": "Emmy"}}\n' * 10
        )
        time.sleep(0.3)
    time.sleep(0.5)
    assert heads(open_server) == before


def test_a_write_whose_sender_goes_away_is_whole_or_not_there(open_server: httpx.Client) -> None:
    host, port = open_server.base_url.host, open_server.base_url.port or 80
    body = json.dumps({"query": 'query q() { insert Person { name: "Emmy" } }'}).encode()
    with socket.create_connection((host, port)) as line:
        line.sendall(
            f"POST {G}/mutate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
    found: list[str] = []
    for _ in range(100):
        rows = open_server.post(f"{G}/query", json={"query": ALL}).json()["rows"]
        found = [row["p.name"] for row in rows]
        if "Emmy" in found:
            break
        time.sleep(0.05)
    assert found in (["Ada", "Charles"], ["Ada", "Charles", "Emmy"])
    assert open_server.get(f"{G}/status").json()["pending"] == []


@pytest.mark.parametrize(
    ("method", "path"), [("POST", f"{G}/export"), ("GET", f"{G}/entities/node/Person")]
)
def test_an_export_whose_reader_goes_away_ends(people: Path, method: str, path: str) -> None:
    server = make_server(ServeRequest([str(people)], unauthenticated=True), {})
    lines = b"".join(
        b'{"type": "Person", "data": {"name": "p%d", "photo": "base64:%s"}}\n'
        % (number, b"QUJD" * 20_000)
        for number in range(200)
    )
    with serving(server) as url, httpx.Client(base_url=url, timeout=60) as client:
        loaded = client.post(f"{G}/load/ndjson", content=lines, headers=NDJSON)
        assert loaded.status_code == 200, loaded.text
        with socket.socket() as line:
            # The kernel enlarges the buffers of a connection, up to more than the whole export,
            # unless they have a size.
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
            line.settimeout(60)
            line.connect((client.base_url.host, client.base_url.port or 80))
            line.sendall(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert line.recv(1_000).startswith(b"HTTP/1.1 200")
            running = server.service.pools.streams.running
            assert len(running) == 1
        assert not wait(running, timeout=60).not_done
