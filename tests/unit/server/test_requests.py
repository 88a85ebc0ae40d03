"""Promises about single requests: conditions, keys, deadlines, limits, streams, blobs."""

from __future__ import annotations

import json
import threading
import time
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.unit.server.conftest import TOKENS, G, Serve, bearer

import omnigraph
from omnigraph.adapters.lance.reading.blobs import LanceBlob
from omnigraph.server.serve import ServeRequest, make_server, serving
from omnigraph.server.settings import ServerLimits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ALL = "query all() { match { $p: Person } return { $p.name } }"
ADD = "query add($n: String) { insert Person { name: $n } }"
# Conditions connect the variables, so all combinations are tested: longer than any deadline here.
ENDLESS = """query endless() {
    match {
        $a: Person  $b: Person  $c: Person  $d: Person
        $a.name < $b.name  $b.name < $c.name  $c.name < $d.name
    }
    return { count($a) as n }
}"""
NDJSON = {"Content-Type": "application/x-ndjson"}


def add(client: httpx.Client, name: str, **headers: str) -> httpx.Response:
    said = {key.replace("_", "-"): value for key, value in headers.items()}
    return client.post(f"{G}/mutate", json={"query": ADD, "params": {"n": name}}, headers=said)


def names(client: httpx.Client) -> list[str]:
    rows = client.post(f"{G}/query", json={"query": ALL}).json()["rows"]
    return sorted(row["p.name"] for row in rows)


def lines_of(count: int, size: int = 100) -> bytes:
    return b"".join(
        b'{"type": "Person", "data": {"name": "p%06d%s"}}\n' % (number, b"x" * size)
        for number in range(count)
    )


# --- conditions and keys -----------------------------------------------------------------------


def test_a_conditional_mutation_loses_to_whoever_was_first(open_server: httpx.Client) -> None:
    head = open_server.get(f"{G}/branches").json()["heads"]["main"]
    said = {"Omnigraph-If-Graph-Commit": head}
    body = {"query": ADD, "params": {"n": "Emmy"}}
    path = f"{G}/mutate/if-graph-commit"
    assert open_server.post(path, json=body, headers=said).status_code == 200
    lost = open_server.post(path, json={**body, "params": {"n": "Late"}}, headers=said)
    assert lost.status_code == 412
    assert "code" not in lost.json()
    assert lost.json()["precondition_failure"]["expected"] == head
    assert "Late" not in names(open_server)


def test_a_repeated_key_has_no_second_effect(open_server: httpx.Client) -> None:
    first = add(open_server, "Emmy", Idempotency_Key="k1")
    again = add(open_server, "Emmy", Idempotency_Key="k1")
    assert again.json() == first.json()
    other = add(open_server, "Else", Idempotency_Key="k1")
    assert other.status_code == 409
    assert other.json()["reason"] == "idempotency.reused"
    line = b'{"type": "Person", "data": {"name": "Loaded"}}\n'
    said = {**NDJSON, "Idempotency-Key": "k2"}
    one = open_server.post(f"{G}/load/ndjson", content=line, headers=said).json()
    two = open_server.post(f"{G}/load/ndjson", content=line, headers=said).json()
    assert one["commit"] == two["commit"]


def test_racing_requests_with_one_key_make_one_commit(open_server: httpx.Client) -> None:
    before = len(open_server.get(f"{G}/commits").json()["commits"])
    with ThreadPoolExecutor(8) as crowd:
        answers = list(
            crowd.map(lambda _: add(open_server, "Emmy", Idempotency_Key="race"), range(8))
        )
    assert {answer.status_code for answer in answers} <= {200, 409}
    assert (
        len(
            {
                answer.json()["commit"]["graph_commit_id"]
                for answer in answers
                if answer.status_code == 200
            }
        )
        == 1
    )
    assert len(open_server.get(f"{G}/commits").json()["commits"]) == before + 1


def test_a_dry_run_counts_and_writes_nothing(open_server: httpx.Client) -> None:
    body = {"query": ADD, "params": {"n": "Emmy"}, "dry_run": True}
    answer = open_server.post(f"{G}/mutate", json=body).json()
    assert (answer["affected_nodes"], answer["commit"], answer["dry_run"]) == (1, None, True)
    assert "Emmy" not in names(open_server)


# --- errors ------------------------------------------------------------------------------------


def test_engine_errors_have_their_status_and_their_detail(open_server: httpx.Client) -> None:
    def post(path: str, **body: Any) -> tuple[int, Any]:
        answer = open_server.post(f"{G}/{path}", json=body)
        return answer.status_code, answer.json()

    status, body = post("query", query=ADD, params={"n": "x"})
    assert (status, body["code"]) == (400, "bad_request")
    status, body = post("query", query=ALL, branch="nope")
    assert (status, body["code"]) == (404, "not_found")
    status, body = post("branches", name="review")
    assert (status, body["code"], body["reason"]) == (409, "conflict", "branch.exists")
    status, body = post("load", data='{"type": "Person", "data": {}}\n')
    assert status == 400
    assert body["details"]["violations"]
    status, body = post("load", data='{"type": "Person", "data": {"name": "Ada"}}', mode="append")
    met = {"entity_kind": "node", "type_name": "Person", "entity_id": "Ada"}
    assert (status, body["key_conflict"]) == (409, met)
    status, body = post("query", query=ALL, snapshot="01M7J6PPJ8KKHKYYX78B15MWDC")
    assert status == 404


def test_the_older_names_of_fields_are_taken(open_server: httpx.Client) -> None:
    both = f"{ADD} query other($n: String) {{ insert Person {{ name: $n }} }}"
    older = {"query_source": both, "query_name": "other", "params": {"n": "Emmy"}}
    answer = open_server.post(f"{G}/mutate", json=older)
    assert (answer.status_code, answer.json()["query_name"]) == (200, "other")
    answer = open_server.post(f"{G}/query", json={"query_source": ALL})
    assert (answer.status_code, answer.json()["row_count"]) == (200, len(names(open_server)))
    for wrong in ({"query_source": ALL, "query": ALL}, {"query_source": 1}, {"source": ALL}):
        assert open_server.post(f"{G}/query", json=wrong).status_code == 400


def test_a_merge_conflict_is_told_previewed_and_resolved(open_server: httpx.Client) -> None:
    change = 'query q() { update Person set { born: date("%s") } where name = "Ada" }'
    for branch, day in (("main", "1815-12-11"), ("review", "1815-12-12")):
        done = open_server.post(f"{G}/mutate", json={"query": change % day, "branch": branch})
        assert done.json()["affected_nodes"] == 1
    refused = open_server.post(f"{G}/branches/merge", json={"source": "review"})
    assert refused.status_code == 409
    (conflict,) = refused.json()["merge_conflicts"]
    assert conflict["kind"] == "divergent_update"
    preview = open_server.post(f"{G}/branches/merge", json={"source": "review", "preview": True})
    assert [each["conflict_id"] for each in preview.json()["conflicts"]] == [
        conflict["conflict_id"]
    ]
    choice = [{"conflict_id": conflict["conflict_id"], "take": "theirs"}]
    merged = open_server.post(
        f"{G}/branches/merge",
        json={"source": "review", "resolutions": choice, "delete_branch": True, "message": "m"},
    )
    assert merged.json()["outcome"] == "merged", merged.text
    assert merged.json()["branch_deleted"] is True


def test_an_error_of_ours_shows_its_id_and_nothing_else(
    people: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = make_server(ServeRequest([str(people)], unauthenticated=True), {})
    with serving(server) as url, httpx.Client(base_url=url) as client:
        (people / "_refs").rename(people / "_refs-gone")
        (people / "_graph.json").rename(people / "_graph-gone.json")
        for directory in people.glob("nodes/*"):
            directory.rename(directory.with_name("gone-" + directory.name))
        with caplog.at_level("ERROR", logger="omnigraph.server"):
            answer = client.post(f"{G}/export", json={}, headers={"X-Request-Id": "find-me"})
    assert answer.status_code in (404, 409, 500)
    if answer.status_code == 500:
        assert answer.json()["request_id"] == "find-me"
        assert str(people) not in answer.text
    assert "Traceback" not in answer.text


# --- time and limits ---------------------------------------------------------------------------


def test_a_deadline_stops_a_query(open_server: httpx.Client) -> None:
    open_server.post(f"{G}/load/ndjson", content=lines_of(150), headers=NDJSON)
    answer = open_server.post(
        f"{G}/query", json={"query": ENDLESS}, headers={"Omnigraph-Deadline-Ms": "100"}
    )
    assert answer.status_code == 504, answer.text
    assert "code" not in answer.json()


def test_a_write_that_cannot_begin_before_its_deadline_is_not_begun(people: Path) -> None:
    limits = ServerLimits(write_threads=1)
    server = make_server(ServeRequest([str(people)], unauthenticated=True, limits=limits), {})
    with serving(server) as url, httpx.Client(base_url=url) as client:
        hold = threading.Event()
        server.service.pools.writes._executor.submit(hold.wait)
        with ThreadPoolExecutor(1) as other:
            waiting = other.submit(add, client, "Late", Omnigraph_Deadline_Ms="50")
            time.sleep(0.3)
            # Reads go on meanwhile: they have threads of their own.
            assert names(client) == ["Ada", "Charles"]
            hold.set()
            assert waiting.result().status_code == 504
        assert names(client) == ["Ada", "Charles"]


def test_an_actor_with_too_many_writes_is_told_to_wait_and_others_are_not(
    people: Path, tmp_path: Path
) -> None:
    environment = {"OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": json.dumps(TOKENS)}
    request = ServeRequest(
        [str(people)],
        policy="preset:team",
        limits=ServerLimits(actor_writes_max=2, write_threads=2),
    )
    server = make_server(request, environment)
    with serving(server) as url, httpx.Client(base_url=url) as client:
        hold = threading.Event()
        for _ in range(2):
            server.service.pools.writes._executor.submit(hold.wait)
        with ThreadPoolExecutor(4) as crowd:

            def write(actor: str, name: str) -> httpx.Response:
                return add(client, name, **bearer(actor))

            first = [crowd.submit(write, "ada", f"a{number}") for number in range(2)]
            time.sleep(0.3)
            refused = write("ada", "a3")
            assert refused.status_code == 429
            assert refused.headers["retry-after"] == "60"
            assert refused.json()["code"] == "too_many_requests"
            assert refused.json()["resource_limit"]["name"] == "actor_writes"
            other = crowd.submit(write, "bob", "b1")
            hold.set()
            assert other.result().status_code == 200
            assert [each.result().status_code for each in first] == [200, 200]
        assert write("ada", "a4").status_code == 200


def test_a_full_queue_answers_503_with_a_time_to_come_back(people: Path) -> None:
    limits = ServerLimits(read_threads=1, queue_max=1)
    server = make_server(ServeRequest([str(people)], unauthenticated=True, limits=limits), {})
    with serving(server) as url, httpx.Client(base_url=url) as client:
        hold = threading.Event()
        server.service.pools.reads._executor.submit(hold.wait)
        with ThreadPoolExecutor(2) as crowd:
            waiting = [crowd.submit(names, client) for _ in range(2)]
            time.sleep(0.3)
            busy = client.post(f"{G}/query", json={"query": ALL})
            assert busy.status_code == 503
            assert busy.headers["retry-after"] == "1"
            hold.set()
            assert [each.result() for each in waiting] == [["Ada", "Charles"]] * 2


def test_a_running_query_is_listed_and_cancelled(open_server: httpx.Client) -> None:
    open_server.post(f"{G}/load/ndjson", content=lines_of(400), headers=NDJSON)
    slow = """query slow() {
        match { $a: Person  $b: Person  $c: Person  $a.name < $b.name  $b.name < $c.name }
        return { count($a) as n }
    }"""
    with ThreadPoolExecutor(1) as other:
        asked = other.submit(
            lambda: open_server.post(f"{G}/query", json={"query": slow}, timeout=60)
        )
        found: list[Any] = []
        while not found and not asked.done():
            found = open_server.get(f"{G}/operations").json()["operations"]
        assert [each["kind"] for each in found] == ["query"]
        assert open_server.delete(f"{G}/operations/{found[0]['id']}").status_code == 200
        stopped = asked.result()
        assert (stopped.status_code, stopped.json()["reason"]) == (409, "query.cancelled")
    assert open_server.get(f"{G}/operations").json()["operations"] == []


def test_a_running_load_is_listed_and_cancelled_without_a_trace(open_server: httpx.Client) -> None:
    before = open_server.get(f"{G}/branches").json()
    cancelled = threading.Event()

    def body() -> Iterator[bytes]:
        yield lines_of(50)
        while not cancelled.wait(0.01):
            yield b"\n" * 65_536
        yield b"\n" * 262_144

    with ThreadPoolExecutor(1) as other:
        path = f"{G}/load/ndjson?branch=new&from=main"
        asked = other.submit(lambda: open_server.post(path, content=body(), headers=NDJSON))
        found: list[Any] = []
        while not found and not asked.done():
            found = open_server.get(f"{G}/operations").json()["operations"]
        assert [(each["kind"], each["target"]) for each in found] == [("load", "new")]
        assert open_server.delete(f"{G}/operations/{found[0]['id']}").status_code == 200
        cancelled.set()
        stopped = asked.result()
    assert (stopped.status_code, stopped.json()["reason"]) == (409, "operation.cancelled")
    assert open_server.get(f"{G}/branches").json() == before


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("load", {"data": '{"type": "Person", "data": {"name": "New"}}'}),
        ("branches/merge", {"source": "review"}),
        ("cherry-pick", {"commit": "review"}),
        ("revert", {"commit": "main"}),
        ("branches/main/reset", {"to": "review"}),
        ("schema/apply", {"schema_source": "node Person {\n    name: String @key\n}"}),
    ],
)
def test_a_write_with_a_condition_runs_only_while_the_branch_is_there(
    open_server: httpx.Client, path: str, body: dict[str, Any]
) -> None:
    heads = open_server.get(f"{G}/branches").json()["heads"]
    if "commit" in body:
        body = {"commit": heads[body["commit"]]}
    elsewhere = {**body, "if_commit": heads["review"]}
    refused = open_server.post(f"{G}/{path}", json=elsewhere)
    assert (refused.status_code, refused.json()["precondition_failure"]) == (
        412,
        {"expected": heads["review"], "actual": heads["main"]},
    )
    assert open_server.get(f"{G}/branches").json()["heads"] == heads
    if path != "schema/apply":
        done = open_server.post(f"{G}/{path}", json={**body, "if_commit": heads["main"].lower()})
        assert done.status_code == 200
        assert done.json()["commit"] is not None


# --- streams -----------------------------------------------------------------------------------


def test_a_load_larger_than_a_server_takes_is_shown_the_way_to_spark(people: Path) -> None:
    request = ServeRequest(
        [str(people)], unauthenticated=True, limits=ServerLimits(load_bytes_max=100_000)
    )
    with (
        serving(make_server(request, {})) as url,
        httpx.Client(base_url=url, timeout=30) as client,
    ):
        data = lines_of(2_000)

        def chunks() -> Any:
            for start in range(0, len(data), 10_000):
                yield data[start : start + 10_000]

        for content in (data, chunks()):
            answer = client.post(f"{G}/load/ndjson", content=content, headers=NDJSON)
            assert answer.status_code == 413
            assert "--engine spark" in answer.json()["remedy"]
            assert answer.json()["resource_limit"]["name"] == "graph_batch_request_bytes"
        assert names(client) == ["Ada", "Charles"]


def test_what_is_loaded_in_pieces_is_exported_again(open_server: httpx.Client) -> None:
    data = lines_of(5_000)

    def chunks() -> Any:
        # Pieces that end within lines.
        for start in range(0, len(data), 7_919):
            yield data[start : start + 7_919]

    loaded = open_server.post(
        f"{G}/load/ndjson?branch=bulk&from=main&mode=append", content=chunks(), headers=NDJSON
    )
    assert loaded.json()["total_entities"] == 5_000, loaded.text
    assert loaded.json()["branch_created"] is True
    exported = open_server.post(f"{G}/export", json={"branch": "bulk", "type_names": ["Person"]})
    assert exported.headers["content-type"] == "application/x-ndjson"
    assert len(exported.text.splitlines()) == 5_002
    assert open_server.post(f"{G}/export", json={"type_names": ["Nope"]}).status_code == 404


def test_a_baseline_ends_with_the_cursor_that_the_feed_goes_on_with(
    open_server: httpx.Client,
) -> None:
    lines = open_server.post(f"{G}/changes/baseline").text.splitlines()
    last = json.loads(lines[-1])["baseline"]
    add(open_server, "Emmy")
    page = open_server.get(f"{G}/changes", params={"cursor": last["resume_cursor"]}).json()
    assert [change["id"] for change in page["blocks"][0]["changes"]] == ["Emmy"]
    assert page["caught_up"] is True
    bad = open_server.get(f"{G}/changes", params={"cursor": "nonsense"})
    assert bad.status_code == 400
    assert open_server.get(f"{G}/changes?cursor=a&start=now").status_code == 400


# --- blobs -------------------------------------------------------------------------------------


def test_a_blob_is_given_whole_in_part_and_only_if_it_changed(open_server: httpx.Client) -> None:
    update = 'query q($p: Blob) { update Person set { photo: $p } where name = "Ada" }'
    said = {"query": update, "params": {"p": "base64:MDEyMzQ1Njc4OQ=="}}
    assert open_server.post(f"{G}/mutate", json=said).json()["affected_nodes"] == 1
    where = {"entity": "node", "type": "Person", "id": "Ada", "property": "photo"}

    def get(**headers: str) -> httpx.Response:
        said = {key.replace("_", "-"): value for key, value in headers.items()}
        return open_server.get(f"{G}/blob", params=where, headers=said)

    whole = get()
    assert (whole.content, whole.headers["content-length"]) == (b"0123456789", "10")
    tag = whole.headers["etag"]
    head = open_server.head(f"{G}/blob", params=where)
    assert (head.content, head.headers["content-length"], head.headers["etag"]) == (b"", "10", tag)
    for asked, content in (("0-3", b"0123"), ("7-", b"789"), ("-2", b"89"), ("5-99", b"56789")):
        part = get(Range=f"bytes={asked}")
        assert (part.status_code, part.content) == (206, content)
        assert part.headers["content-range"].endswith("/10")
    outside = get(Range="bytes=10-")
    assert (outside.status_code, outside.headers["content-range"]) == (416, "bytes */10")
    assert outside.json()["blob_range"] == {"size": 10}
    for ignored in ("bytes=0-1,3-4", "bytes=-", "lines=1-2", "bytes=5-2", "bytes=a-b"):
        assert (get(Range=ignored).status_code, get(Range=ignored).content) == (200, b"0123456789")
    assert get(If_None_Match=tag).status_code == 304
    assert get(If_None_Match='"other"').status_code == 200
    assert get(If_Match='"other"').status_code == 412
    assert get(If_Match=f'"other", {tag}').status_code == 200
    assert get(Range="bytes=0-1", If_Range='"other"').status_code == 200
    assert get(Range="bytes=0-1", If_Range=tag).status_code == 206


def test_a_blob_is_read_piece_by_piece_and_its_head_not_at_all(
    open_server: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = bytes(range(256)) * 12_000
    line = {
        "type": "Person",
        "data": {"name": "Ada", "photo": "base64:" + b64encode(data).decode()},
    }
    done = open_server.post(f"{G}/load/ndjson", content=json.dumps(line), headers=NDJSON)
    assert done.status_code == 200
    read: list[int] = []
    piece = LanceBlob.read

    def counted(blob: LanceBlob, start: int, length: int) -> bytes:
        read.append(length)
        return piece(blob, start, length)

    monkeypatch.setattr(LanceBlob, "read", counted)
    where = {"entity": "node", "type": "Person", "id": "Ada", "property": "photo"}
    head = open_server.head(f"{G}/blob", params=where)
    assert int(head.headers["content-length"]) == len(data)
    same = {"If-None-Match": head.headers["etag"]}
    assert open_server.get(f"{G}/blob", params=where, headers=same).status_code == 304
    assert read == []
    part = {"Range": "bytes=100-299"}
    assert open_server.get(f"{G}/blob", params=where, headers=part).content == data[100:300]
    assert read == [200]
    assert open_server.get(f"{G}/blob", params=where).content == data
    assert max(read) <= 2**20


def test_an_address_of_no_blob_is_told_typed(open_server: httpx.Client) -> None:
    where = {"entity": "node", "type": "Person", "id": "Ada", "property": "photo"}
    for change, status in (
        ({}, 404),
        ({"id": "Nobody"}, 404),
        ({"type": "Nope"}, 404),
        ({"entity": "edge"}, 404),
        ({"entity": "thing"}, 400),
        ({"property": "nope"}, 404),
        ({"property": "name"}, 400),
        ({"branch": "main", "snapshot": "v1"}, 400),
    ):
        answer = open_server.get(f"{G}/blob", params={**where, **change})
        assert answer.status_code == status, (change, answer.text)


# --- several graphs, several servers -----------------------------------------------------------


def test_several_graphs_are_served_under_their_ids(people: Path, tmp_path: Path) -> None:
    other = tmp_path / "films_2026.omni"
    omnigraph.init(other, "node Film { title: String @key }", durability="process").close()
    request = ServeRequest([str(people), f"films={other}"], unauthenticated=True)
    with serving(make_server(request, {})) as url, httpx.Client(base_url=url) as client:
        assert "Film" in client.get("/graphs/films/schema").json()["schema_source"]
        assert "Person" in client.get(f"{G}/schema").json()["schema_source"]
        assert client.get("/readyz").json()["graphs"] == 2


def test_two_servers_on_one_graph_see_each_other(people: Path, serve: Serve) -> None:
    one, two = serve(unauthenticated=True), serve(unauthenticated=True)
    for number in range(4):
        assert add(one, f"one-{number}").status_code == 200
        assert f"one-{number}" in names(two)
        assert add(two, f"two-{number}").status_code == 200
        assert f"two-{number}" in names(one)


# --- telling -----------------------------------------------------------------------------------


def test_metrics_count_operations_and_statuses(open_server: httpx.Client) -> None:
    names(open_server)
    open_server.get(f"{G}/nope")
    text = open_server.get("/metrics").text
    assert 'omnigraph_requests_total{operation="query",status="200"} 1.0' in text
    assert 'omnigraph_requests_total{operation="none",status="404"} 1.0' in text
    assert 'omnigraph_pool_threads{pool="reads"}' in text
    assert "people" not in text
