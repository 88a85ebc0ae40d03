"""The wire, field by field, as released clients of the contract read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.unit.server.conftest import G

import omnigraph
from omnigraph.runtime import faults
from omnigraph.server.wire.base import CommitOutput
from omnigraph.server.wire.problems import ErrorOutput

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx

ADD = 'query q() { insert Person { name: "Emmy" } }'
RECORD = '{"type": "Person", "data": {"name": "Emmy"}}\n'
COMMIT_FIELDS = {
    "graph_commit_id": str,
    "graph_branch": str,
    "graph_manifest_version": int,
    "parent_commit_id": str,
    "created_at": int,
}


@pytest.fixture(autouse=True)
def no_faults() -> Iterator[None]:
    yield
    faults.clear()


def write(client: httpx.Client, call: str, head: str) -> dict[str, Any]:
    """One of the calls that write, as the clients send it."""
    condition = {"Omnigraph-If-Graph-Commit": head}
    invoke = {"params": {"name": "Emmy"}}
    match call:
        case "mutate":
            answer = client.post(f"{G}/mutate", json={"query": ADD})
        case "mutate_if":
            path = f"{G}/mutate/if-graph-commit"
            answer = client.post(path, json={"query": ADD}, headers=condition)
        case "load":
            answer = client.post(f"{G}/load", json={"data": RECORD, "mode": "merge"})
        case "load_ndjson":
            said = {"Content-Type": "application/x-ndjson"}
            answer = client.post(f"{G}/load/ndjson?mode=merge", content=RECORD, headers=said)
        case "invoke":
            answer = client.post(f"{G}/queries/add_person", json=invoke)
        case _:
            path = f"{G}/queries/add_person/if-graph-commit"
            answer = client.post(path, json=invoke, headers=condition)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


@pytest.mark.parametrize(
    "call", ["mutate", "mutate_if", "load", "load_ndjson", "invoke", "invoke_if"]
)
def test_the_commit_of_a_write_is_the_commit_object(open_server: httpx.Client, call: str) -> None:
    head = open_server.get(f"{G}/branches").json()["heads"]["main"]
    commit = write(open_server, call, head)["commit"]
    assert {name: type(commit[name]) for name in COMMIT_FIELDS} == COMMIT_FIELDS
    assert commit["parent_commit_id"] == head
    assert commit["graph_branch"] == "main"
    assert commit == open_server.get(f"{G}/commits/{commit['graph_commit_id']}").json()
    msgspec.convert(commit, CommitOutput)


def test_a_write_that_changes_nothing_has_a_null_commit(open_server: httpx.Client) -> None:
    text = 'query q() { update Person set { born: null } where name = "nobody" }'
    answer = open_server.post(f"{G}/mutate", json={"query": text})
    assert answer.status_code == 200, answer.text
    assert answer.json()["commit"] is None


def test_every_write_of_a_branch_answers_with_commit_objects(open_server: httpx.Client) -> None:
    merged = open_server.post(f"{G}/branches/merge", json={"source": "review"}).json()
    landed = merged["commit"]["graph_commit_id"]
    picked = open_server.post(f"{G}/revert", json={"commit": landed}).json()
    reset = open_server.post(f"{G}/branches/main/reset", json={"to": landed}).json()
    schema = open_server.get(f"{G}/schema").json()["schema_source"]
    applied = open_server.post(
        f"{G}/schema/apply", json={"schema_source": schema + "\nnode Place { name: String @key }\n"}
    ).json()
    for body in (merged, picked, reset, applied):
        msgspec.convert(body["commit"], CommitOutput)


def test_a_moved_table_is_named_by_type_with_version_numbers(
    open_server: httpx.Client, people: Path
) -> None:
    other = omnigraph.open(people, actor="ada")

    def intrude() -> None:
        faults.clear()
        other.mutate('query q() { insert Person { name: "Kurt" } }')

    def version() -> int:
        datasets = open_server.get(f"{G}/snapshot").json()["datasets"]
        return int(
            next(each for each in datasets if each["type_name"] == "Person")[
                "published_dataset_version"
            ]
        )

    before = version()
    faults.arm("attempt.prepared", intrude)
    update = 'query q() { update Person set { born: date("1900-01-01") } where name = "Ada" }'
    answer = open_server.post(f"{G}/mutate", json={"query": update})
    assert answer.status_code == 409, answer.text
    body = answer.json()
    assert body["code"] == "conflict"
    assert body["manifest_conflict"] == {
        "table_key": "node:Person",
        "expected": before,
        "actual": version(),
    }
    assert body["published_dataset_version_conflict"] == {
        "entity_kind": "node",
        "type_name": "Person",
        "expected_published_dataset_version": before,
        "actual_published_dataset_version": version(),
    }
    assert version() > before
    msgspec.convert(body, ErrorOutput)


def test_a_blob_names_its_snapshot(open_server: httpx.Client) -> None:
    add = 'query q() { insert Person { name: "Emmy", photo: "base64:AAEC" } }'
    done = open_server.post(f"{G}/mutate", json={"query": add}).json()
    where = {"entity": "node", "type": "Person", "id": "Emmy", "property": "photo"}
    whole = open_server.get(f"{G}/blob", params=where)
    part = open_server.get(f"{G}/blob", params=where, headers={"Range": "bytes=1-1"})
    same = open_server.get(
        f"{G}/blob", params=where, headers={"If-None-Match": whole.headers["ETag"]}
    )
    stat = open_server.head(f"{G}/blob", params=where)
    assert [each.status_code for each in (whole, part, same, stat)] == [200, 206, 304, 200]
    snapshots = {each.headers["Omnigraph-Snapshot-Id"] for each in (whole, part, same, stat)}
    assert snapshots == {done["commit"]["graph_commit_id"]}
