"""The history of an entity is the one that every version shows, and reads few of them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.api.merges import ResetRequest
from omnigraph.graph.facade import EmbeddedGraph
from omnigraph.merging.reset import reset_branch
from omnigraph.testing.histories import branch_off, write
from omnigraph.testing.kit import SCHEMA, history, new_engine, open_engine, table_of
from omnigraph.testing.kit_between import Between

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.session.engine import Engine

NAMES = "abcd"


def mutate(graph: EmbeddedGraph, text: str) -> None:
    graph.mutate(f"query q() {{ {text} }}")


def act(graph: EmbeddedGraph, seen: random.Random) -> None:
    """One random commit, or none."""
    engine, name = graph.engine, seen.choice(NAMES)
    match seen.randrange(10):
        case 0 | 1 | 2 | 3:
            mutate(graph, f'insert Person {{ name: "{name}", age: {seen.randrange(3)} }}')
        case 4 | 5:
            mutate(graph, f'delete Person where name = "{name}"')
        case 6 | 7:
            mutate(graph, f'insert Person {{ name: "other {seen.random()}" }}')
        case 8:
            gone = seen.choice([other for other in NAMES if other != name])
            write(engine, {"Person": {name: {"name": name, "age": 9}}}, {"Person": [gone]})
        case _:
            line = history(engine)
            reset_branch(engine, ResetRequest("main", seen.choice(line[: len(line) // 2 + 1]).id))


def state(engine: Engine, commit: str, name: str) -> dict[str, Any] | None:
    rows = table_of(engine, commit).scan(filter=f"id = '{name}'").to_pylist()
    return rows[0] if rows else None


def changes_by_version(engine: Engine, name: str) -> list[tuple[str, str]]:
    """Every version of the line, compared with the one before it."""
    found: list[tuple[str, str]] = []
    line = history(engine)
    states = [state(engine, commit.id, name) for commit in line] + [None]
    for commit, after, before in zip(line, states, states[1:], strict=False):
        if after != before:
            op = "INSERT" if before is None else "DELETE" if after is None else "UPDATE"
            found.append((commit.id, op))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_the_history_is_that_of_all_versions(seed: int, tmp_path: Path) -> None:
    seen = random.Random(seed)
    engine = new_engine(tmp_path / "g", schema=SCHEMA)
    graph = EmbeddedGraph(engine)
    for number in range(40):
        act(graph, seen)
        if number == 20:
            branch_off(engine, "dev")
    for name in NAMES:
        fresh = EmbeddedGraph(open_engine(tmp_path / "g"))
        found = fresh.blame("Person", name)
        entries = [(commit.id, change.op.name) for commit, change in found.entries]
        assert entries == changes_by_version(engine, name)


def test_an_old_entity_is_found_by_a_few_reads(tmp_path: Path) -> None:
    """Few versions are opened where many commits left the entity alone."""
    engine = new_engine(tmp_path / "g", schema=SCHEMA)
    graph = EmbeddedGraph(engine)
    mutate(graph, 'insert Person { name: "old", age: 1 }')
    opened = []
    for count in (60, 120):
        for number in range(60):
            mutate(graph, f'insert Person {{ name: "p{count}-{number}" }}')
        fresh = open_engine(tmp_path / "g", wrap_tables=Between)
        tables = fresh.root.tables
        assert isinstance(tables, Between)
        found = EmbeddedGraph(fresh).blame("Person", "old").entries
        assert [change.op.name for _, change in found] == ["INSERT"]
        assert EmbeddedGraph(fresh).blame("Person", "nobody").entries == ()
        opened.append(len([verb for verb, _ in tables.calls if verb == "open"]))
    # The row moves when small fragments are compacted, and is looked up once behind each move.
    assert opened[1] < 60, opened
