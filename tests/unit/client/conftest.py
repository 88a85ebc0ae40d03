"""One small graph, opened here and served on a socket: what one door says, the other must say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import omnigraph
from omnigraph.client import connect
from omnigraph.server.serve import ServeRequest, make_server, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from omnigraph.api.graph import Graph
    from omnigraph.client.remote import RemoteGraph

SCHEMA = """\
node Person {
    name: String @key
    born: Date?
    score: I64?
    seen: DateTime?
}

edge Knows: Person -> Person {
    since: I32?
}
"""
QUERIES = """\
query person($name: String) {
    match { $p: Person { name: $name } }
    return { $p.name, $p.born }
}

query add_person($name: String) {
    insert Person { name: $name }
}
"""
PEOPLE = """\
query people() {
    insert Person { name: "Ada", born: date("1815-12-10"), score: 9007199254740993 }
    insert Person { name: "Charles" }
    insert Knows { from: "Ada", to: "Charles", since: 1833 }
}
"""
TOKEN = "correct-horse-battery-staple"  # noqa: S105 - of a server that lives for one test


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    made = omnigraph.init(tmp_path / "people.omni", SCHEMA, durability="process", actor="admin")
    made.mutate(PEOPLE)
    return made


@pytest.fixture
def url(graph: Graph, tmp_path: Path) -> Iterator[str]:
    queries = tmp_path / "queries"
    queries.mkdir()
    (queries / "people.gq").write_text(QUERIES, encoding="utf-8")
    request = ServeRequest([graph.uri], policy="preset:team", queries=str(queries))
    environment = {"OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": json.dumps({"admin": TOKEN})}
    with serving(make_server(request, environment)) as url:
        yield url


@pytest.fixture
def remote(url: str) -> Iterator[RemoteGraph]:
    with connect(url, token=TOKEN, graph="people") as made:
        yield made
