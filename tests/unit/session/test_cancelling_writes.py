"""A write that is cancelled leaves nothing; one that is being published is finished."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest

import omnigraph
from omnigraph.errors import GraphError
from omnigraph.runtime import faults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from omnigraph.api.graph import Graph

SCHEMA = "node Person {\n    name: String @key\n    age: I64?\n}\nedge Knows: Person -> Person\n"
WIDER = SCHEMA.replace("age: I64?", 'age: I64?\n    land: String @default("NL")')


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    with omnigraph.init(tmp_path / "g.omni", SCHEMA, durability="process") as made:
        made.mutate('query q() { insert Person { name: "Ada" } insert Person { name: "Bob" } }')
        made.branches.create("side")
        made.mutate('query q() { insert Person { name: "Cy" } }', branch="side", message="pick me")
        yield made
    faults.clear()


WRITES: dict[str, tuple[str, Callable[[Graph], Any]]] = {
    "insert": ("mutate", lambda g: g.mutate('query q() { insert Person { name: "Dan" } }')),
    "update": (
        "mutate",
        lambda g: g.mutate('query q() { update Person set { age: 3 } where name = "Ada" }'),
    ),
    "load": ("load", lambda g: g.load([{"name": "Eve"}], mode="merge", type="Person")),
    "load_new_branch": (
        "load",
        lambda g: g.load(
            [{"name": "Eve"}], mode="merge", type="Person", branch="fresh", from_="main"
        ),
    ),
    "schema": ("schema", lambda g: g.apply_schema(WIDER)),
    "merge": ("merge", lambda g: g.merge("side")),
    "cherry_pick": (
        "cherry_pick",
        lambda g: g.cherry_pick(g.at("side").snapshot()["graph_commit_id"]),
    ),
    "reset": ("reset", lambda g: g.branches.reset("main", to="side")),
}


def state_of(graph: Graph) -> Any:
    lines = io.BytesIO()
    graph.export(lines)
    heads = {info.ref.name: info.head.commit.id for info in graph.branches.list()}
    return heads, graph.schema, lines.getvalue(), graph.recoveries.pending()


@pytest.mark.parametrize(
    "point", ["attempt.captured", "attempt.prepared", "attempt.tables_committed"]
)
@pytest.mark.parametrize("write", WRITES)
def test_a_cancelled_write_leaves_nothing_and_can_be_repeated(
    graph: Graph, write: str, point: str
) -> None:
    kind, call = WRITES[write]
    before = state_of(graph)
    listed = []

    def cancel() -> None:
        (running,) = graph.operations.list()
        listed.append(running.kind)
        graph.operations.cancel(running.id)

    faults.arm(point, cancel)
    with pytest.raises(GraphError) as caught:
        call(graph)
    faults.clear()
    assert (caught.value.code, listed) == ("operation.cancelled", [kind])
    assert state_of(graph) == before
    assert graph.operations.list() == []
    call(graph)
    assert state_of(graph) != before


@pytest.mark.parametrize("point", ["publish.before_swap", "attempt.published"])
def test_a_write_that_is_being_published_is_finished(graph: Graph, point: str) -> None:
    def cancel() -> None:
        (running,) = graph.operations.list()
        graph.operations.cancel(running.id)

    faults.arm(point, cancel)
    done = graph.mutate('query q() { insert Person { name: "Dan" } }')
    assert done.commit is not None
    assert graph.nodes("Person").column("id").to_pylist().count("Dan") == 1


def test_a_cancelled_export_stops(graph: Graph) -> None:
    class Canceller(io.BytesIO):
        def write(self, data: Any, /) -> int:
            (running,) = graph.operations.list()
            assert running.kind == "export"
            graph.operations.cancel(running.id)
            return super().write(data)

    out = Canceller()
    graph.mutate('query q() { insert Knows { from: "Ada", to: "Bob" } }')
    with pytest.raises(GraphError) as caught:
        graph.export(out)
    assert caught.value.code == "operation.cancelled"
    assert b"Knows" not in out.getvalue()
