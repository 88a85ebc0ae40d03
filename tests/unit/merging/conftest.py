"""A small graph with a branch, and short ways to change it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.graph.facade import EmbeddedGraph
from omnigraph.testing.histories import State, branch_off, state_of, write
from omnigraph.testing.kit import new_engine

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.api.commits import Commit
    from omnigraph.session.engine import Engine

SCHEMA = """
node Person {
    name: String @key
    mail: String? @unique
    age: I64? @range(0..150)
    note: String?
}

node Place {
    name: String @key
}

edge Knows: Person -> Person @card(0..2) {
    since: I64?
}

edge LivesIn: Person -> Place {
    since: I64?
    @key(src, dst)
}
"""


@dataclass
class World:
    """A graph whose branch ``dev`` began where ``main`` is."""

    engine: Engine

    @property
    def graph(self) -> EmbeddedGraph:
        return EmbeddedGraph(self.engine)

    def put(self, kind: str, key: str, branch: str = "main", **values: Any) -> Commit:
        entity = {"name": key, **values} if kind in ("Person", "Place") else values
        entity = {name.rstrip("_"): value for name, value in entity.items()}
        commit = write(self.engine, {kind: {key: entity}}, branch=branch)
        assert commit is not None
        return commit

    def drop(self, kind: str, key: str, branch: str = "main") -> Commit:
        commit = write(self.engine, {}, {kind: [key]}, branch=branch)
        assert commit is not None
        return commit

    def state(self, target: str = "main") -> State:
        return state_of(self.engine, target)

    def head(self, target: str = "main") -> str:
        return self.engine.snapshot(target).commit_id


@pytest.fixture
def world(tmp_path: Path) -> World:
    engine = new_engine(tmp_path / "g", schema=SCHEMA)
    write(
        engine,
        {
            "Person": {
                "ada": {"name": "ada", "age": 36, "mail": "ada@x"},
                "bob": {"name": "bob", "age": 20},
                "cyd": {"name": "cyd"},
            },
            "Place": {"rome": {"name": "rome"}},
            "Knows": {"k1": {"from": "ada", "to": "bob", "since": 1}},
        },
    )
    branch_off(engine, "dev")
    return World(engine)
