"""The everyday routes, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.unit.server.conftest import G

if TYPE_CHECKING:
    import httpx

ALL = "query all() { match { $p: Person } return { $p.name } }"


def names(client: httpx.Client, **where: str) -> list[str]:
    answer = client.post(f"{G}/query", json={"query": ALL, **where})
    assert answer.status_code == 200, answer.text
    return sorted(row["p.name"] for row in answer.json()["rows"])


def test_a_mutation_is_seen_by_the_next_query(open_server: httpx.Client) -> None:
    done = open_server.post(
        f"{G}/mutate",
        json={
            "query": "query add($n: String) { insert Person { name: $n } }",
            "params": {"n": "Emmy"},
        },
    )
    assert done.status_code == 200
    assert done.json()["affected_nodes"] == 1
    answer = open_server.post(f"{G}/query", json={"query": ALL}).json()
    assert {row["p.name"] for row in answer["rows"]} == {"Ada", "Charles", "Emmy"}
    assert answer["graph_commit_id"] == done.json()["commit"]["graph_commit_id"]


def test_a_branch_is_made_changed_merged_and_deleted(open_server: httpx.Client) -> None:
    assert open_server.post(f"{G}/branches", json={"name": "fix/typo"}).status_code == 200
    query = 'query q() { insert Person { name: "Emmy" } }'
    open_server.post(f"{G}/mutate", json={"query": query, "branch": "fix/typo"})
    assert names(open_server) == ["Ada", "Charles"]
    assert names(open_server, branch="fix/typo") == ["Ada", "Charles", "Emmy"]
    merged = open_server.post(f"{G}/branches/merge", json={"source": "fix/typo"})
    assert merged.json()["outcome"] == "fast_forward"
    gone = open_server.delete(f"{G}/branches/fix%2Ftypo")
    assert gone.json()["name"] == "fix/typo"
    assert names(open_server) == ["Ada", "Charles", "Emmy"]
    assert open_server.get(f"{G}/branches").json()["branches"] == ["main", "review"]


def test_the_past_stays_readable(open_server: httpx.Client) -> None:
    commits = open_server.get(f"{G}/commits").json()["commits"]
    assert [commit["kind"] for commit in commits] == ["mutation", "init"]
    assert names(open_server, snapshot=commits[-1]["graph_commit_id"]) == []
    assert names(open_server, snapshot="v1") == ["Ada", "Charles"]
    shown = open_server.get(f"{G}/commits/{commits[0]['graph_commit_id']}").json()
    assert shown == commits[0]
