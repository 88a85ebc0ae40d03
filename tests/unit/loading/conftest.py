"""Small graphs to load into, and what is in them afterwards."""

from __future__ import annotations

import io
import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.errors import GraphError
from omnigraph.graph.open import init_graph
from omnigraph.testing.kit import FAST

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from omnigraph.api.graph import Graph, GraphAt
    from omnigraph.runtime.limits import Limits

SCHEMA = """
node Person {
    name: String @key
    age: I32?
    mail: String? @unique
    city: String @default("Bonn")
}
node Note {
    text: String
}
edge Knows: Person -> Person {
    since: Date?
}
edge Owns: Person -> Note {
    share: F64?
    @key(src, dst)
}
"""


@pytest.fixture
def make_graph(tmp_path: Path) -> Callable[..., Graph]:
    numbers = itertools.count()

    def make(schema: str = SCHEMA, limits: Limits = FAST, durability: str = "process") -> Graph:
        uri = tmp_path / f"{next(numbers)}.omni"
        return init_graph(uri, schema, durability=durability, limits=limits)

    return make


@pytest.fixture
def graph(make_graph: Callable[..., Graph]) -> Graph:
    return make_graph()


def lines(*records: Any) -> bytes:
    """Records as JSON lines; texts and bytes stand for themselves."""
    spelled = [
        record
        if isinstance(record, bytes)
        else record.encode()
        if isinstance(record, str)
        else json.dumps(record).encode()
        for record in records
    ]
    return b"".join(line + b"\n" for line in spelled)


def person(name: str, **values: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, **values}}


def knows(source: str, target: str, **more: Any) -> dict[str, Any]:
    return {"edge": "Knows", "from": source, "to": target, **more}


def content(graph: GraphAt, *types: str) -> list[dict[str, Any]]:
    """Everything in a graph, as records."""
    out = io.BytesIO()
    graph.export(out, types=types)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def names(graph: GraphAt) -> list[str]:
    return sorted(record["data"]["name"] for record in content(graph, "Person"))


def refused(graph: Graph, data: Any, mode: str = "append", **more: Any) -> GraphError:
    """Load something that must be refused; the graph is as before."""
    before = content(graph)
    commits = len(graph.commits.list().commits)
    with pytest.raises(GraphError) as caught:
        graph.load(data, mode=mode, **more)
    assert content(graph) == before
    assert len(graph.commits.list().commits) == commits
    return caught.value


def violations(error: GraphError) -> list[tuple[Any, ...]]:
    """Rule, record, line and property of each."""
    return [
        (found["rule"], found.get("record"), found.get("line"), found.get("property"))
        for found in error.details["violations"]
    ]


@pytest.fixture
def tools() -> Any:
    """The functions above, for test modules, which do not import each other."""

    class Tools:
        lines = staticmethod(lines)
        person = staticmethod(person)
        knows = staticmethod(knows)
        content = staticmethod(content)
        names = staticmethod(names)
        refused = staticmethod(refused)
        violations = staticmethod(violations)

    return Tools
