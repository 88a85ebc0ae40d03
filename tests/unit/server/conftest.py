"""Servers on a small graph, in this process, on a socket."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import omnigraph
from omnigraph.server.serve import ServeRequest, make_server, serving

SCHEMA = """\
node Person {
    name: String @key
    born: Date?
    photo: Blob?
}

edge Knows: Person -> Person
"""
PEOPLE = """\
query people() {
    insert Person { name: "Ada", born: date("1815-12-10") }
    insert Person { name: "Charles" }
    insert Knows { from: "Ada", to: "Charles" }
}
"""
QUERIES = """\
query person($name: String)
  @description("One person by name.")
{
    match { $p: Person { name: $name } }
    return { $p.name, $p.born }
}

query add_person($name: String, $born: Date?) {
    insert Person { name: $name, born: $born }
}

query hidden() {
    match { $p: Person }
    return { count($p) as n }
}
"""
POLICY = """\
version: 1
groups:
  writers: [ada]
  readers: [bob]
  nobodies: [carl]
protected_branches: [main]
rules:
  - id: writers-do-everything
    allow:
      actors: {group: writers}
      actions:
        - read
        - export
        - change
        - invoke_query
        - branch_create
        - branch_merge
        - branch_delete
        - schema_apply
        - admin
  - id: readers-read
    allow:
      actors: {group: readers}
      actions: [read]
"""
SERVER_POLICY = """\
version: 1
groups:
  writers: [ada]
rules:
  - id: writers-list
    allow:
      actors: {group: writers}
      actions: [graph_list]
"""
TOKENS = {"ada": "token-of-ada", "bob": "token-of-bob", "carl": "token-of-carl"}
G = "/graphs/people"

Serve = Callable[..., httpx.Client]


def bearer(actor: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKENS[actor]}"}


@pytest.fixture(scope="session")
def people_master(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("server") / "people.omni"
    with omnigraph.init(place, SCHEMA, durability="process", actor="ada") as graph:
        graph.mutate(PEOPLE, message="first people")
        graph.branches.create("review")
        graph.mutate('query q() { insert Person { name: "Grace" } }', branch="review")
        graph.tags.create("v1")
    return place


@pytest.fixture
def people(people_master: Path, tmp_path: Path) -> Path:
    """A graph to serve and write to."""
    return Path(shutil.copytree(people_master, tmp_path / "people.omni"))


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    directory = tmp_path / "queries"
    directory.mkdir()
    (directory / "people.gq").write_text(QUERIES, encoding="utf-8")
    (directory / "queries.json").write_text('{"hidden": {"expose": false}}', encoding="utf-8")
    return directory


@pytest.fixture
def serve(people: Path, tmp_path: Path) -> Iterator[Serve]:
    """Start a server on the graph; keywords are those of ``ServeRequest``."""
    stack = contextlib.ExitStack()

    def start(
        *, tokens: dict[str, str] | None = None, policy: str | None = None, **said: Any
    ) -> httpx.Client:
        environment = {}
        if tokens is not None:
            environment["OMNIGRAPH_SERVER_BEARER_TOKENS_JSON"] = json.dumps(tokens)
        if policy is not None and "\n" in policy:
            path = tmp_path / "policy.yaml"
            path.write_text(policy, encoding="utf-8")
            policy = str(path)
        request = ServeRequest([str(people)], policy=policy, **said)
        url = stack.enter_context(serving(make_server(request, environment)))
        return stack.enter_context(httpx.Client(base_url=url, timeout=60))

    with stack:
        yield start


@pytest.fixture
def open_server(serve: Serve, queries: Path) -> httpx.Client:
    """Everybody may everything."""
    return serve(unauthenticated=True, queries=str(queries))


@pytest.fixture(scope="session")
def still_server(
    people_master: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    """An open server for everything that changes nothing, started once."""
    place = shutil.copytree(people_master, tmp_path_factory.mktemp("still") / "people.omni")
    server = make_server(ServeRequest([str(place)], unauthenticated=True), {})
    with serving(server) as url, httpx.Client(base_url=url, timeout=60) as client:
        yield client


@pytest.fixture
def policed(serve: Serve, queries: Path, tmp_path: Path) -> httpx.Client:
    """``ada`` may everything, ``bob`` reads, ``carl`` may nothing."""
    lister = tmp_path / "server-policy.yaml"
    lister.write_text(SERVER_POLICY, encoding="utf-8")
    return serve(tokens=TOKENS, policy=POLICY, queries=str(queries), server_policy=str(lister))
