"""A damaged graph over HTTP: damage is the server's failure, and reaches what depends on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest
from tests.unit.server.conftest import G

from omnigraph.adapters.lance.handles.versions import manifest_name
from omnigraph.cli.program import run
from omnigraph.client import connect
from omnigraph.errors import StorageFault
from omnigraph.graph.open import open_graph
from omnigraph.server.serve import ServeRequest, make_server, serving
from omnigraph.versioning import layout

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ALL = "query all() { match { $p: Person } return { $p.name } }"


@pytest.fixture
def main_damaged(people: Path) -> Path:
    head = open_graph(people, actor="ada").engine.resolver.resolve("main")
    (people / layout.manifest(head.incarnation, head.version)).write_bytes(b"")
    return people


@pytest.fixture
def url(main_damaged: Path) -> Iterator[str]:
    server = make_server(ServeRequest([str(main_damaged)], unauthenticated=True), {})
    with serving(server) as url:
        yield url


def test_a_graph_with_a_damaged_main_is_served(url: str) -> None:
    with httpx.Client(base_url=url, timeout=60) as client:
        found = client.get(f"{G}/status")
        assert found.status_code == 200, found.text
        body = found.json()
        assert (body["head"], body["schema"], body["nodes"]) == (None, None, None)
        assert [(each["name"], each["code"]) for each in body["damaged"]] == [
            ("main", "branch.damaged")
        ]
        assert list(client.get(f"{G}/branches").json()["heads"]) == ["review"]
        failed = client.post(f"{G}/query", json={"query": ALL})
        assert (failed.status_code, failed.json()["reason"]) == (500, "branch.damaged")
        done = client.post(f"{G}/query", json={"query": ALL, "branch": "review"})
        assert done.status_code == 200, done.text


def test_the_client_reads_the_status_of_a_damaged_main(url: str) -> None:
    with connect(f"{url}{G}") as graph:
        found = graph.status()
        assert found.head is None
        assert [ref.name for ref in found.damaged] == ["main"]


def test_the_command_line_shows_the_status_of_a_damaged_main(
    main_damaged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["status", str(main_damaged)]) == 0
    shown = capsys.readouterr().out
    assert "damaged: main: " in shown
    assert "branch create NAME --from" in shown or "read-only" in shown


def test_a_missing_table_version_is_a_failure_of_the_server(people: Path) -> None:
    with open_graph(people, actor="ada") as graph:
        graph.mutate('query q() { insert Person { name: "Kurt" } }', branch="review")
        snapshot = graph.engine.snapshot("review")
    pin = snapshot.manifest.pins[snapshot.catalog.nodes[0].id]
    file = f"{pin.path}/_versions/{manifest_name(pin.version)}"
    (people / file).unlink()
    server = make_server(ServeRequest([str(people)], unauthenticated=True), {})
    with serving(server) as url, httpx.Client(base_url=url, timeout=60) as client:
        for path, body in (
            ("query", {"query": ALL, "branch": "review"}),
            ("export", {"branch": "review"}),
            ("mutate", {"query": 'query q() { delete Person where name = "Kurt" }'}),
        ):
            if path == "mutate":
                body["branch"] = "review"
            failed = client.post(f"{G}/{path}", json=body)
            assert failed.status_code == 500, (path, failed.text)
            assert failed.json()["reason"] == "table.damaged", path
        assert client.post(f"{G}/query", json={"query": ALL}).status_code == 200
    with open_graph(people, actor="ada") as graph, pytest.raises(StorageFault) as caught:
        graph.at("review").query(ALL)
    assert file in caught.value.message
