"""Every route for everybody: without a token, with a wrong one, denied, allowed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.unit.server.conftest import SCHEMA, SERVER_POLICY, TOKENS, G, Serve, bearer

from omnigraph.errors import GraphError
from omnigraph.server.routes import OPERATIONS
from omnigraph.server.serve import ServeRequest, make_server, serving

if TYPE_CHECKING:
    from pathlib import Path

QUERY = "query q() { match { $p: Person } return { $p.name } }"
INSERT = 'query q() { insert Person { name: "Emmy" } }'
LINE = b'{"type": "Person", "data": {"name": "Emmy"}}\n'
NDJSON = {"Content-Type": "application/x-ndjson"}
PHOTO = {"entity": "node", "type": "Person", "id": "Ada", "property": "photo"}

# A request that somebody who may everything succeeds with, for every operation. ``HEAD`` and
# ``HISTORY`` stand for ids that only the graph knows.
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "healthz": ("/healthz", {}),
    "readyz": ("/readyz", {}),
    "metrics": ("/metrics", {}),
    "openapi": ("/openapi.json", {}),
    "list_graphs": ("/graphs", {}),
    "get_status": (f"{G}/status", {}),
    "get_snapshot": (f"{G}/snapshot", {}),
    "query": (f"{G}/query", {"json": {"query": QUERY}}),
    "explain": (f"{G}/explain", {"json": {"query": QUERY}}),
    "profile": (f"{G}/profile", {"json": {"query": QUERY}}),
    "mutate": (f"{G}/mutate", {"json": {"query": INSERT}}),
    "mutate_if_graph_commit": (
        f"{G}/mutate/if-graph-commit",
        {"json": {"query": INSERT}, "headers": {"Omnigraph-If-Graph-Commit": "HEAD"}},
    ),
    "list_queries": (f"{G}/queries", {}),
    "invoke_query": (f"{G}/queries/person", {"json": {"params": {"name": "Ada"}}}),
    "invoke_query_if_graph_commit": (
        f"{G}/queries/add_person/if-graph-commit",
        {
            "json": {"params": {"name": "Emmy Noether"}},
            "headers": {"Omnigraph-If-Graph-Commit": "HEAD"},
        },
    ),
    "load": (f"{G}/load", {"json": {"data": LINE.decode()}}),
    "load_ndjson": (f"{G}/load/ndjson", {"content": LINE, "headers": NDJSON}),
    "export": (f"{G}/export", {"json": {}}),
    "get_blob": (f"{G}/blob", {"params": PHOTO}),
    "head_blob": (f"{G}/blob", {"params": PHOTO}),
    "get_schema": (f"{G}/schema", {}),
    "plan_schema": (f"{G}/schema/plan", {"json": {"schema_source": SCHEMA}}),
    "apply_schema": (f"{G}/schema/apply", {"json": {"schema_source": SCHEMA}}),
    "list_branches": (f"{G}/branches", {}),
    "create_branch": (f"{G}/branches", {"json": {"name": "new"}}),
    "delete_branch": (f"{G}/branches/review", {}),
    "reset_branch": (f"{G}/branches/review/reset", {"json": {"to": "main"}}),
    "merge_branches": (f"{G}/branches/merge", {"json": {"source": "review"}}),
    "revert": (f"{G}/revert", {"json": {"commit": "HEAD"}}),
    "cherry_pick": (f"{G}/cherry-pick", {"json": {"commit": "REVIEW"}}),
    "list_tags": (f"{G}/tags", {}),
    "create_tag": (f"{G}/tags", {"json": {"name": "v2"}}),
    "delete_tag": (f"{G}/tags/v1", {}),
    "list_commits": (f"{G}/commits", {}),
    "get_commit": (f"{G}/commits/HEAD", {}),
    "get_commit_changes": (f"{G}/commits/HEAD/changes", {}),
    "poll_changes": (f"{G}/changes", {"params": {"start": "beginning"}}),
    "get_baseline": (f"{G}/changes/baseline", {"json": {}}),
    "get_diff": (f"{G}/diff", {"params": {"from": "v1", "to": "review"}}),
    "get_entity_history": (f"{G}/entities/node/Person/Ada/history", {}),
    "get_entities": (f"{G}/entities/node/Person", {}),
    "list_operations": (f"{G}/operations", {}),
    "cancel_operation": (f"{G}/operations/none", {}),
}
BY_ID = {each.id: each for each in OPERATIONS}
PROTECTED = [name for name in REQUESTS if not BY_ID[name].public]
# Whoever may not do these is not told that they are there.
HIDDEN = {"invoke_query", "invoke_query_if_graph_commit", "get_commit_changes"}
READS = {
    "get_status",
    "get_snapshot",
    "query",
    "explain",
    "profile",
    "list_queries",
    "get_blob",
    "head_blob",
    "get_schema",
    "plan_schema",
    "list_branches",
    "list_tags",
    "list_commits",
    "get_commit",
    "get_commit_changes",
    "poll_changes",
    "get_diff",
    "get_entity_history",
}


def send(
    client: httpx.Client, name: str, headers: dict[str, str], heads: dict[str, str]
) -> httpx.Response:
    path, said = REQUESTS[name]
    found = said.get("json", {}).get("commit")
    body = {**said["json"], "commit": heads[found]} if found else said.get("json")
    own = {
        key: heads.get(value, value)
        for key, value in {**said.get("headers", {}), **headers}.items()
    }
    more: dict[str, Any] = {} if body is None else {"json": body}
    for key in ("content", "params"):
        if key in said:
            more[key] = said[key]
    return client.request(
        BY_ID[name].method, path.replace("HEAD", heads["HEAD"]), headers=own, **more
    )


@pytest.fixture
def heads(policed: httpx.Client) -> dict[str, str]:
    found = policed.get(f"{G}/branches", headers=bearer("ada")).json()["heads"]
    return {"HEAD": found["main"], "REVIEW": found["review"]}


@pytest.fixture
def photo(policed: httpx.Client) -> None:
    said = {"query": 'query q($p: Blob) { update Person set { photo: $p } where name = "Ada" }'}
    done = policed.post(
        f"{G}/mutate", json={**said, "params": {"p": "base64:aGVsbG8="}}, headers=bearer("ada")
    )
    assert done.status_code == 200, done.text


def test_every_operation_is_tested_here() -> None:
    assert set(REQUESTS) == set(BY_ID)


@pytest.mark.parametrize("header", [None, "Bearer nonsense", "Basic YWRhOmFkYQ==", "Bearer"])
def test_without_a_known_token_every_protected_route_is_401(
    policed: httpx.Client, header: str | None
) -> None:
    heads = {"HEAD": "01M7J6PPJ8KKHKYYX78B15MWDC", "REVIEW": "01M7J6PPJ8KKHKYYX78B15MWDC"}
    for name in PROTECTED:
        answer = send(policed, name, {} if header is None else {"Authorization": header}, heads)
        assert answer.status_code == 401, name
        assert answer.headers["www-authenticate"].startswith('Bearer realm="omnigraph"'), name
        if name != "head_blob":
            assert answer.json()["code"] == "unauthorized", name


@pytest.mark.usefixtures("photo")
def test_whoever_may_nothing_is_told_the_action_or_nothing_at_all(
    policed: httpx.Client, heads: dict[str, str]
) -> None:
    for name in PROTECTED:
        if name == "metrics":
            continue
        answer = send(policed, name, bearer("carl"), heads)
        assert answer.status_code == (404 if name in HIDDEN else 403), (name, answer.text)
        if name not in HIDDEN and name != "head_blob":
            body = answer.json()
            assert body["reason"] == "policy.denied", name
            assert body["details"]["action"] in body["error"], name
            assert body["remedy"], name


@pytest.mark.usefixtures("photo")
def test_whoever_reads_may_read_and_nothing_else(
    policed: httpx.Client, heads: dict[str, str]
) -> None:
    for name in PROTECTED:
        if name == "metrics":
            continue
        answer = send(policed, name, bearer("bob"), heads)
        wanted = 200 if name in READS else 404 if name in HIDDEN else 403
        assert answer.status_code == wanted, (name, answer.text)


# Those that take away what others of them need.
ALONE = {"apply_schema", "delete_branch", "reset_branch", "merge_branches", "revert", "cherry_pick"}


def succeed(client: httpx.Client, name: str) -> None:
    found = client.get(f"{G}/branches", headers=bearer("ada")).json()["heads"]
    answer = send(client, name, bearer("ada"), {"HEAD": found["main"], "REVIEW": found["review"]})
    # Nothing runs that could be cancelled.
    assert answer.status_code == (404 if name == "cancel_operation" else 200), (name, answer.text)


@pytest.mark.usefixtures("photo")
def test_whoever_may_everything_succeeds(policed: httpx.Client) -> None:
    for name in sorted(set(REQUESTS) - ALONE, key=lambda each: "delete" in each):
        succeed(policed, name)


@pytest.mark.parametrize("name", sorted(ALONE))
def test_whoever_may_everything_succeeds_with(policed: httpx.Client, name: str) -> None:
    succeed(policed, name)


def test_a_denied_write_leaves_no_trace(policed: httpx.Client, heads: dict[str, str]) -> None:
    for name in PROTECTED:
        send(policed, name, bearer("bob"), heads)
    after = policed.get(f"{G}/branches", headers=bearer("ada")).json()["heads"]
    assert after == {"main": heads["HEAD"], "review": heads["REVIEW"]}


def test_the_actor_is_that_of_the_token_whatever_the_request_says(policed: httpx.Client) -> None:
    smuggled = {
        "X-Actor": "root",
        "X-Omnigraph-Actor": "root",
        "Omnigraph-Actor": "root",
        "X-Forwarded-User": "root",
        "From": "root",
    }
    done = policed.post(
        f"{G}/mutate", json={"query": INSERT}, headers={**bearer("ada"), **smuggled}
    ).json()
    assert done["actor_id"] == "ada"
    commit = policed.get(
        f"{G}/commits/{done['commit']['graph_commit_id']}", headers=bearer("ada")
    ).json()
    assert commit["actor_id"] == "ada"
    for field in ("actor", "actor_id", "as"):
        answer = policed.post(
            f"{G}/mutate", json={"query": INSERT, field: "root"}, headers=bearer("ada")
        )
        assert answer.status_code == 400
        assert "unknown field" in answer.json()["error"]


def test_two_authorization_headers_are_nobody(policed: httpx.Client) -> None:
    for first, second in (("ada", "bob"), ("bob", "ada"), ("ada", "ada")):
        answer = policed.get(
            f"{G}/branches",
            headers=[
                ("Authorization", f"Bearer {TOKENS[first]}"),
                ("Authorization", f"Bearer {TOKENS[second]}"),
            ],
        )
        assert answer.status_code == 401


def test_tokens_without_a_policy_only_read(serve: Serve) -> None:
    client = serve(tokens=TOKENS)
    heads = client.get(f"{G}/branches", headers=bearer("carl")).json()["heads"]
    known = {"HEAD": heads["main"], "REVIEW": heads["review"]}
    for name in PROTECTED:
        if name in {"metrics", "get_blob", "head_blob"}:
            continue
        answer = send(client, name, bearer("ada"), known)
        hidden = name.startswith("invoke_query")
        assert answer.status_code == (200 if name in READS else 404 if hidden else 403), name
    assert client.get("/readyz").json()["access"] == "default_deny"


def test_an_open_server_serves_everybody_but_lists_no_graphs(open_server: httpx.Client) -> None:
    assert open_server.get(f"{G}/status").status_code == 200
    assert open_server.post(f"{G}/mutate", json={"query": INSERT}).status_code == 200
    assert open_server.get("/graphs").status_code == 403
    document = open_server.get("/openapi.json").json()
    assert "securitySchemes" not in document["components"]


def test_an_unknown_graph_is_401_before_it_is_404(policed: httpx.Client) -> None:
    assert policed.get("/graphs/nope/status").status_code == 401
    assert policed.get("/graphs/nope/status", headers=bearer("carl")).status_code == 404
    assert policed.get("/status", headers=bearer("ada")).status_code == 404


def test_a_graph_that_does_not_open_is_left_out_and_told(
    people: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lister = tmp_path / "server-policy.yaml"
    lister.write_text(SERVER_POLICY, encoding="utf-8")
    environment = {"OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": json.dumps(TOKENS)}
    ghost = tmp_path / "ghost.omni"
    request = ServeRequest(
        [str(people), str(ghost)], policy="preset:team", server_policy=str(lister)
    )
    with (
        serving(make_server(request, environment)) as url,
        httpx.Client(base_url=url, headers=bearer("ada")) as client,
    ):
        assert client.get("/readyz").json() == {
            "status": "ready",
            "access": "policy",
            "graphs": 1,
            "quarantined": 1,
        }
        listed = client.get("/graphs").json()
        assert [each["graph_id"] for each in listed["graphs"]] == ["people"]
        assert listed["quarantined"] == [{"graph_id": "ghost", "reason": "graph.missing"}]
        assert client.get("/graphs/ghost/branches").status_code == 404
        assert client.get(f"{G}/branches").status_code == 200
    assert "graph quarantined" in caplog.text
    with pytest.raises(GraphError, match="ghost"):
        make_server(replace(request, require_all_graphs=True), environment)
    with pytest.raises(GraphError, match="ghost"):
        make_server(replace(request, graphs=[str(ghost)]), environment)
