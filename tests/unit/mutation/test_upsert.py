"""``insert``, ``create`` and ``replace`` of entities with a key."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.errors import GraphError, KeyConflict, ValidationFailure
from omnigraph.graph.open import init_graph
from omnigraph.runtime import faults

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from omnigraph.api.graph import Graph

SCHEMA = """
node Person {
    name: String @key
    mail: String
    age: I32?
    city: String @default("Bonn")
    secret: String?
}
node Note { text: String? }
edge Owns: Person -> Note { share: F64?
    since: I32? @default(1)
    @key(src, dst) }
"""
ADA = {"name": "ada", "mail": "a@x", "age": 36, "city": "Rom", "secret": "s"}


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    graph = init_graph(tmp_path / "g.omni", SCHEMA, durability="process")
    graph.load(
        [
            {"type": "Person", "data": ADA},
            {"type": "Note", "id": "n"},
            {"edge": "Owns", "from": "ada", "to": "n", "data": {"share": 0.5, "since": 7}},
        ],
        mode="append",
    )
    yield graph
    faults.clear()


def run(graph: Graph, statements: str, **more: Any) -> Any:
    return graph.mutate(f"query q() {{ {statements} }}", **more)


def stored(graph: Graph, type_name: str = "Person") -> list[dict[str, Any]]:
    out = io.BytesIO()
    graph.export(out, types=[type_name])
    return [json.loads(line)["data"] for line in out.getvalue().splitlines()]


def test_an_insert_keeps_what_it_does_not_name(graph: Graph) -> None:
    result = run(graph, 'insert Person { name: "ada", age: 37 }')
    assert stored(graph) == [{**ADA, "age": 37}]
    assert (result.counts.nodes_inserted, result.counts.nodes_updated) == (0, 1)


def test_null_that_is_named_clears_a_value(graph: Graph) -> None:
    run(graph, 'insert Person { name: "ada", age: null }')
    assert stored(graph) == [{**ADA, "age": None}]


def test_a_new_row_has_defaults_and_needs_what_is_required(graph: Graph) -> None:
    run(graph, 'insert Person { name: "bob", mail: "b@x" }')
    bob = {"name": "bob", "mail": "b@x", "age": None, "city": "Bonn", "secret": None}
    assert stored(graph) == [ADA, bob]
    with pytest.raises(ValidationFailure) as found:
        run(graph, 'insert Person { name: "cid", age: 1 }')
    assert found.value.details["violations"][0]["property"] == "mail"


def test_required_is_checked_on_the_final_row_of_the_mutation(graph: Graph) -> None:
    steps = 'insert Person { name: "cid" } update Person set { age: 5 } where mail is null'
    with pytest.raises(ValidationFailure):
        run(graph, steps)
    run(graph, f'{steps} insert Person {{ name: "cid", mail: "c@x" }}')
    cid = {"name": "cid", "mail": "c@x", "age": 5, "city": "Bonn", "secret": None}
    assert stored(graph) == [ADA, cid]


def test_edges_with_a_key_are_upserted_alike(graph: Graph) -> None:
    run(graph, 'insert Owns { from: "ada", to: "n", share: 0.25 }')
    assert stored(graph, "Owns") == [{"share": 0.25, "since": 7}]
    with pytest.raises(KeyConflict):
        run(graph, 'create Owns { from: "ada", to: "n" }')
    run(graph, 'replace Owns { from: "ada", to: "n" }')
    assert stored(graph, "Owns") == [{"share": None, "since": 1}]


def test_later_statements_see_earlier_ones(graph: Graph) -> None:
    run(
        graph,
        """
        insert Person { name: "ada", age: 1 }
        insert Person { name: "ada", city: "Ulm" }
        insert Person { name: "bob", mail: "b@x", age: 2 }
        insert Person { name: "bob", city: "Ulm" }
        update Person set { secret: "t" } where city = "Ulm"
        insert Person { name: "ada", mail: "z@x" }
        """,
    )
    assert stored(graph) == [
        {"name": "ada", "mail": "z@x", "age": 1, "city": "Ulm", "secret": "t"},
        {"name": "bob", "mail": "b@x", "age": 2, "city": "Ulm", "secret": "t"},
    ]


def test_an_update_before_it_is_seen_by_an_insert(graph: Graph) -> None:
    run(
        graph,
        """
        update Person set { age: 1 } where name = "ada"
        insert Person { name: "ada", city: "Ulm" }
        """,
    )
    assert stored(graph) == [{**ADA, "age": 1, "city": "Ulm"}]


def test_an_update_matches_stored_values_that_an_insert_keeps(graph: Graph) -> None:
    run(
        graph,
        """
        insert Person { name: "ada", age: 1 }
        update Person set { secret: "t" } where city = "Rom"
        """,
    )
    assert stored(graph) == [{**ADA, "age": 1, "secret": "t"}]


def test_create_refuses_a_key_that_exists_and_names_it(graph: Graph) -> None:
    with pytest.raises(KeyConflict) as found:
        run(graph, 'create Person { name: "ada", mail: "x" }')
    assert found.value.code == "key.exists"
    assert found.value.details["ids"] == ["ada"]
    assert stored(graph) == [ADA]
    result = run(graph, 'create Person { name: "bob", mail: "x" }')
    assert result.counts.nodes_inserted == 1


@pytest.mark.parametrize("first", ["insert", "create", "replace"])
def test_create_sees_the_rows_of_the_same_mutation(graph: Graph, first: str) -> None:
    text = f'{first} Person {{ name: "bob", mail: "x" }} create Person {{ name: "bob", mail: "y" }}'
    with pytest.raises(KeyConflict):
        run(graph, text)
    assert stored(graph) == [ADA]


def test_a_created_row_may_be_inserted_again_and_stays_strict(graph: Graph) -> None:
    again = 'insert Person {{ name: "{0}", age: 3 }}'
    create = 'create Person {{ name: "{0}", mail: "x" }}'
    with pytest.raises(KeyConflict):
        run(graph, (create + again).format("ada"))
    run(graph, (create + again).format("bob"))
    assert stored(graph)[1]["age"] == 3


def test_create_without_a_key_always_makes_a_new_row(graph: Graph) -> None:
    run(graph, 'create Note { text: "x" } create Note { text: "x" }')
    assert len(stored(graph, "Note")) == 3


def test_replace_sets_the_whole_row(graph: Graph) -> None:
    result = run(graph, 'replace Person { name: "ada", mail: "n@x" }')
    new = {"name": "ada", "mail": "n@x", "age": None, "city": "Bonn", "secret": None}
    assert stored(graph) == [new]
    assert result.counts.nodes_updated == 1
    result = run(graph, 'replace Person { name: "bob", mail: "b@x" }')
    assert result.counts.nodes_inserted == 1


def test_replace_after_an_insert_keeps_nothing_of_either(graph: Graph) -> None:
    run(graph, 'insert Person { name: "ada", age: 1 } replace Person { name: "ada", mail: "m" }')
    assert stored(graph)[0] == {
        "name": "ada",
        "mail": "m",
        "age": None,
        "city": "Bonn",
        "secret": None,
    }


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ('create Person { name: "x" }', "T12"),
        ('replace Person { name: "x" }', "T12"),
        ("insert Person { age: 1 }", "T12"),
        ('insert Owns { from: "ada" }', "T12"),
        ('replace Note { text: "x" }', "T42"),
    ],
)
def test_incomplete_statements_do_not_compile(graph: Graph, statement: str, code: str) -> None:
    with pytest.raises(GraphError) as found:
        run(graph, statement)
    assert code in str(found.value.details)


def test_a_rehearsal_counts_updates_and_writes_nothing(graph: Graph) -> None:
    text = 'insert Person { name: "ada", age: 1 } insert Person { name: "bob", mail: "b" }'
    found = run(graph, text, dry_run=True).counts
    assert (found.nodes_inserted, found.nodes_updated) == (1, 1)
    assert stored(graph) == [ADA]
    with pytest.raises(KeyConflict):
        run(graph, 'create Person { name: "ada", mail: "x" }', dry_run=True)


def test_an_insert_on_a_moved_head_keeps_the_values_of_that_head(graph: Graph) -> None:
    def act() -> None:
        faults.clear()
        run(graph, 'insert Person { name: "ada", city: "Ulm" }')

    faults.arm("attempt.prepared", act)
    run(graph, 'insert Person { name: "ada", age: 1 }')
    assert stored(graph) == [{**ADA, "age": 1, "city": "Ulm"}]


def test_create_on_a_moved_head_sees_the_row_that_came_meanwhile(graph: Graph) -> None:
    def act() -> None:
        faults.clear()
        run(graph, 'insert Person { name: "bob", mail: "first" }')

    faults.arm("attempt.prepared", act)
    with pytest.raises(KeyConflict):
        run(graph, 'create Person { name: "bob", mail: "second" }')
    assert stored(graph)[1]["mail"] == "first"


def test_the_change_feed_shows_the_kept_values(graph: Graph) -> None:
    before = graph.commits.list().commits[0].id
    run(graph, 'insert Person { name: "ada", age: 1 }')
    (change,) = graph.diff(before, "main")
    assert (change.op.name, change.changed) == ("UPDATE", ("age",))
    assert change.before is not None
    assert change.after is not None
    assert (change.before.properties["age"], change.before.properties["secret"]) == (36, "s")
    assert (change.after.properties["age"], change.after.properties["secret"]) == (1, "s")
