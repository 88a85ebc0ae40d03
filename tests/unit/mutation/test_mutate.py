"""Mutations: statements accumulate, one commit at the end or none."""

from __future__ import annotations

import io
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.errors import (
    Conflict,
    GraphError,
    LimitExceeded,
    PreconditionFailed,
    ValidationFailure,
)
from omnigraph.graph.open import init_graph
from omnigraph.mutation import statements as pending
from omnigraph.runtime import faults
from omnigraph.runtime.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from omnigraph.api.graph import Graph

SCHEMA = """
node Person {
    name: String @key
    age: I32?
    mail: String? @unique
    tags: [String]?
    city: String @default("Bonn")
    @range(age, 0..150)
}
node Note { text: String? }
edge Knows: Person -> Person { since: I32? }
edge Owns: Person -> Note { share: F64?
    @key(src, dst) }
"""


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    """People a to e, of whom c has no age; edges between them, one of them a loop."""
    graph = init_graph(tmp_path / "g.omni", SCHEMA, durability="process")
    ages = {"a": 10, "b": 20, "c": None, "d": 40, "e": 50}
    graph.load(
        [
            *({"type": "Person", "data": {"name": n, "age": age}} for n, age in ages.items()),
            {"type": "Note", "id": "n"},
            {"edge": "Knows", "id": "ab", "from": "a", "to": "b"},
            {"edge": "Knows", "id": "ba", "from": "b", "to": "a"},
            {"edge": "Knows", "id": "aa", "from": "a", "to": "a"},
            {"edge": "Knows", "id": "cd", "from": "c", "to": "d"},
            {"edge": "Owns", "from": "a", "to": "n"},
        ],
        mode="append",
    )
    yield graph
    faults.clear()


def people(graph: Graph) -> dict[str, Any]:
    return {record["data"]["name"]: record["data"] for record in records(graph, "Person")}


def records(graph: Graph, *types: str) -> list[dict[str, Any]]:
    out = io.BytesIO()
    graph.export(out, types=types)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def run(graph: Graph, statements: str, **more: Any) -> Any:
    return graph.mutate(f"query q() {{ {statements} }}", **more)


def counts(result: Any) -> tuple[int, int]:
    return result.affected_nodes, result.affected_edges


# --- later statements see earlier ones ---


def test_an_update_sees_what_was_inserted_before_it(graph: Graph) -> None:
    result = run(
        graph,
        """
        insert Person { name: "x", age: 5 }
        insert Person { name: "y", age: 30 }
        update Person set { city: "Rom" } where age < 15
        """,
    )
    assert counts(result) == (3, 0)
    found = people(graph)
    assert {name for name in found if found[name]["city"] == "Rom"} == {"a", "x"}
    assert len(graph.commits.list().commits) == 3


def test_an_update_sees_what_an_update_did(graph: Graph) -> None:
    result = run(
        graph,
        """
        update Person set { age: 100 } where age < 15
        update Person set { city: "Rom" } where age = 100
        update Person set { city: "Oslo" } where age = 10
        """,
    )
    assert counts(result) == (1, 0)
    assert (people(graph)["a"]["age"], people(graph)["a"]["city"]) == (100, "Rom")


def test_an_edge_may_refer_to_a_node_inserted_before_or_after_it(graph: Graph) -> None:
    result = run(
        graph,
        """
        insert Knows { from: "x", to: "y" }
        insert Person { name: "x" }
        insert Person { name: "y" }
        """,
    )
    assert counts(result) == (2, 1)


def test_the_last_statement_about_a_key_wins(graph: Graph) -> None:
    result = run(
        graph,
        """
        insert Person { name: "a", age: 1 }
        insert Person { name: "a", age: 2 }
        """,
    )
    assert counts(result) == (1, 0)
    assert people(graph)["a"]["age"] == 2
    assert result.commit.counts.nodes_updated == 1


def test_replacing_a_key_that_exists_replaces_the_entity(graph: Graph) -> None:
    run(graph, 'update Person set { city: "Rom" } where name = "a"')
    result = run(graph, 'replace Person { name: "a" }')
    assert counts(result) == (1, 0)
    assert people(graph)["a"] == {
        "name": "a",
        "age": None,
        "mail": None,
        "tags": None,
        "city": "Bonn",
    }


def test_keyed_edges_are_one_per_pair_and_others_are_not(graph: Graph) -> None:
    run(graph, 'insert Owns { from: "a", to: "n", share: 0.5 }')
    run(graph, 'insert Owns { from: "b", to: "n" }')
    assert [(r["from"], r["data"]["share"]) for r in records(graph, "Owns")] == [
        ("a", 0.5),
        ("b", None),
    ]
    before = len(records(graph, "Knows"))
    for _ in range(2):
        run(graph, 'insert Knows { from: "a", to: "b" }')
    assert len(records(graph, "Knows")) == before + 2


# --- predicates ---


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("age > 15", "bde"),
        ("not (age > 15)", "a"),
        ("age is null", "c"),
        ("age is not null", "abde"),
        ("age != 10", "bde"),
        ("age > 15 and age < 45", "bd"),
        ('age < 15 or name = "c"', "ac"),
        ('age < 15 or (name starts_with "e" and not (age < 40))', "ae"),
        ('name in ["a", "c", "z"]', "ac"),
        ("age in [10, 50]", "ae"),
        ('name contains "b" or age = 40 or age is null', "bcd"),
        ("age > 1000", ""),
        ("age > -1", "abde"),
        ('not (age < 15 or name = "c")', "bde"),
    ],
)
def test_conditions_mean_the_same_in_updates_and_deletes(
    graph: Graph, where: str, found: str
) -> None:
    result = run(graph, f'update Person set {{ city: "Rom" }} where {where}')  # noqa: S608 - no SQL
    assert "".join(sorted(n for n, p in people(graph).items() if p["city"] == "Rom")) == found
    assert counts(result) == (len(found), 0)
    assert (result.commit is None) == (not found)
    gone = run(graph, f"delete Person where {where}")
    assert gone.affected_nodes == len(found)
    assert "".join(sorted(people(graph))) == "".join(n for n in "abcde" if n not in found)


def test_overlapping_predicates_count_every_entity_once(graph: Graph) -> None:
    result = run(
        graph,
        """
        delete Person where age < 25
        delete Person where age > 15
        delete Person where name = "b" or age is null
        """,
    )
    # All five people, and all five edges however many ends they lost.
    assert counts(result) == (5, 5)
    assert records(graph) == [{"type": "Note", "id": "n", "data": {"text": None}}]


def test_edges_go_once_whether_named_or_taken_along(graph: Graph) -> None:
    result = run(
        graph,
        """
        delete Knows where since is null
        delete Person where name = "a"
        delete Knows where since is null
        """,
    )
    assert counts(result) == (1, 5)
    assert sorted(people(graph)) == ["b", "c", "d", "e"]


def test_deleting_a_node_takes_its_edges_of_every_type(graph: Graph) -> None:
    result = run(graph, 'delete Person where name = "a"')
    assert counts(result) == (1, 4)
    assert [record["id"] for record in records(graph, "Knows")] == ["cd"]
    assert records(graph, "Owns") == []


def test_overlapping_updates_count_every_entity_once(graph: Graph) -> None:
    result = run(
        graph,
        """
        update Person set { age: 1 } where age < 25
        update Person set { city: "Rom" } where age < 45 or age is null
        """,
    )
    assert counts(result) == (4, 0)


def test_parameters_reach_predicates_and_values(graph: Graph) -> None:
    graph.mutate(
        "query q($n: String, $a: I32?, $t: [String]) "
        "{ update Person set { age: $a, tags: $t } where name = $n }",
        {"n": "a", "a": None, "t": ["x"]},
    )
    assert (people(graph)["a"]["age"], people(graph)["a"]["tags"]) == (None, ["x"])


# --- rules ---


@pytest.mark.parametrize(
    ("statements", "rule"),
    [
        ('insert Person { name: "x", age: 151 }', "range"),
        ("update Person set { age: 151 } where age = 10", "range"),
        ('insert Knows { from: "a", to: "zz" }', "endpoint"),
        ('insert Person { name: "x", mail: "m" } insert Person { name: "y", mail: "m" }', "unique"),
        ('update Person set { mail: "m" } where age is not null', "unique"),
    ],
)
def test_a_broken_rule_refuses_the_whole_mutation(graph: Graph, statements: str, rule: str) -> None:
    before = records(graph)
    with pytest.raises(ValidationFailure) as caught:
        run(graph, f'insert Person {{ name: "fine" }} {statements}')
    assert caught.value.code == f"data.{rule}"
    assert records(graph) == before


@pytest.mark.parametrize(
    "statement",
    [
        'update Person set { name: "z" } where name = "a"',
        'update Knows set { from: "b" } where since is null',
        'update Owns set { to: "b" } where share is null',
    ],
)
def test_keys_and_ends_cannot_be_updated(graph: Graph, statement: str) -> None:
    before = records(graph)
    with pytest.raises(GraphError):
        run(graph, statement)
    assert records(graph) == before


def test_a_mutation_that_touches_too_much_says_what_to_do(tmp_path: Path) -> None:
    limits = Limits(mutation_rows_max=3)
    graph = init_graph(tmp_path / "g.omni", SCHEMA, durability="process", limits=limits)
    graph.load([{"type": "Person", "data": {"name": str(n)}} for n in range(4)], mode="append")
    for change in ("delete Person", 'update Person set { city: "x" }'):
        with pytest.raises(LimitExceeded) as caught:
            run(graph, f"{change} where age is null")
        assert caught.value.details["resource_limit"]["limit"] == 3
        assert "load" in (caught.value.remedy or "")


def test_a_mutation_that_needs_too_much_memory_is_refused_while_it_reads(tmp_path: Path) -> None:
    limits = Limits(mutation_bytes_max=10_000)
    graph = init_graph(tmp_path / "g.omni", SCHEMA, durability="process", limits=limits)
    people = [{"type": "Person", "data": {"name": str(n), "city": "x" * 100}} for n in range(200)]
    graph.load(people, mode="append")
    with pytest.raises(LimitExceeded) as caught:
        run(graph, "update Person set { age: 1 } where age is null")
    assert caught.value.details["resource_limit"] == {"name": "bytes", "limit": 10_000}
    # Ids alone fit.
    assert counts(run(graph, "delete Person where age is null")) == (200, 0)


def test_what_a_mutation_writes_counts_as_memory_too(tmp_path: Path) -> None:
    limits = Limits(mutation_bytes_max=10_000)
    graph = init_graph(tmp_path / "g.omni", SCHEMA, durability="process", limits=limits)
    graph.load([{"type": "Person", "data": {"name": str(n)}} for n in range(10)], mode="append")
    update = "query q($v: String) { update Person set { city: $v } where age is null }"
    insert = 'query q($v: String) { insert Person { name: "x", city: $v } }'
    for text, size in ((update, 1_000), (insert, 10_001)):
        with pytest.raises(LimitExceeded) as caught:
            graph.mutate(text, {"v": "x" * size})
        assert caught.value.details["resource_limit"] == {"name": "bytes", "limit": 10_000}
    graph.mutate(update, {"v": "x" * 500})


def test_an_update_may_find_only_what_the_mutation_itself_wrote(graph: Graph) -> None:
    insert = 'insert Person { name: "new", city: "Ulm" }'
    update = 'update Person set { tags: ["x"], age: 3 } where city = "Ulm"'
    assert counts(run(graph, f"{insert} {update}")) == (1, 0)
    assert (people(graph)["new"]["tags"], people(graph)["new"]["age"]) == (["x"], 3)


def test_one_value_for_many_rows_comes_in_pieces_that_arrays_can_hold(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending, "_PIECE_BYTES", 10)
    run(graph, 'update Person set { city: "Uppsala", age: 7 } where name != "a"')
    changed = [row for name, row in people(graph).items() if name != "a"]
    assert len(changed) > 2
    assert all((row["city"], row["age"]) == ("Uppsala", 7) for row in changed)
    assert people(graph)["a"]["city"] != "Uppsala"


def test_a_predicate_that_storage_cannot_answer_reads_only_what_matches(graph: Graph) -> None:
    run(graph, 'update Person set { tags: ["x", "y"] } where age > 15')
    move = 'update Person set { city: "Ulm" } where tags contains "x" and age < 45'
    assert counts(run(graph, move)) == (2, 0)
    assert {name for name, row in people(graph).items() if row["city"] == "Ulm"} == {"b", "d"}
    gone = 'delete Person where tags contains "x" and age < 45'
    assert counts(run(graph, gone)) == (2, 3)


@pytest.mark.parametrize(
    ("declared", "given", "statement", "rule", "prop"),
    [
        ("String?", None, "insert Person { name: $v }", "required", "name"),
        ("String?", None, 'insert Owns { from: "a", to: $v }', "required", "to"),
        ("I64", 2**40, 'insert Person { name: "x", age: $v }', "type", "age"),
    ],
)
def test_a_parameter_that_does_not_fit_is_a_violation_like_any_other(
    graph: Graph, declared: str, given: Any, statement: str, rule: str, prop: str
) -> None:
    before = records(graph)
    with pytest.raises(ValidationFailure) as caught:
        graph.mutate(f"query q($v: {declared}) {{ {statement} }}", {"v": given})
    [violation] = caught.value.details["violations"]
    assert (violation["rule"], violation["property"]) == (rule, prop)
    assert caught.value.code == f"data.{rule}"
    assert records(graph) == before


# --- conditions, rehearsals, repeated requests ---


def test_a_condition_holds_or_the_mutation_does_not_run(graph: Graph) -> None:
    head = graph.status().head
    run(graph, 'insert Person { name: "x" }', if_commit=head)
    with pytest.raises(PreconditionFailed) as caught:
        run(graph, 'insert Person { name: "y" }', if_commit=head)
    assert caught.value.details["expected"] == head
    assert "y" not in people(graph)


def test_a_condition_lost_between_prepare_and_publish_is_lost(graph: Graph) -> None:
    head = graph.status().head

    def intrude() -> None:
        faults.clear()
        run(graph, 'insert Person { name: "other" }')

    faults.arm("attempt.prepared", intrude)
    with pytest.raises(Conflict):
        run(graph, 'insert Person { name: "mine" }', if_commit=head)
    assert "mine" not in people(graph)


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ('insert Person { name: "x" } insert Knows { from: "x", to: "a" }', (1, 1)),
        ("update Person set { age: 1 } where age is not null", (4, 0)),
        ('delete Person where name = "a"', (1, 4)),
        ('delete Person where name = "nobody"', (0, 0)),
    ],
)
def test_a_rehearsal_counts_and_writes_nothing_at_all(
    graph: Graph, statements: str, expected: tuple[int, int]
) -> None:
    def files() -> set[tuple[str, int]]:
        return {
            (entry.path, entry.stat().st_mtime_ns)
            for folder, _, _ in os.walk(graph.uri)
            for entry in os.scandir(folder)
        }

    before = files()
    result = run(graph, statements, dry_run=True)
    assert (counts(result), result.commit) == (expected, None)
    assert result.to_json()["dry_run"] is True
    assert files() == before
    assert counts(run(graph, statements)) == expected


def test_a_rehearsal_finds_what_is_wrong(graph: Graph) -> None:
    with pytest.raises(ValidationFailure):
        run(graph, 'insert Knows { from: "a", to: "zz" }', dry_run=True)


def test_a_repeated_request_answers_with_its_first_commit(graph: Graph) -> None:
    text = 'insert Knows { from: "a", to: "b" }'
    first = run(graph, text, idempotency_key="k")
    second = run(graph, text, idempotency_key="k")
    assert first.commit.id == second.commit.id
    rehearsed = run(graph, text, idempotency_key="k", dry_run=True)
    assert (rehearsed.dry_run, rehearsed.commit.id) == (True, first.commit.id)
    assert counts(first) == counts(second) == counts(rehearsed) == (0, 1)
    other = 'insert Knows { from: "b", to: "a" }'
    for dry_run in (False, True):
        with pytest.raises(Conflict) as caught:
            run(graph, other, idempotency_key="k", dry_run=dry_run)
        assert caught.value.code == "idempotency.reused"
    graph.branches.create("dev")
    assert run(graph, text, idempotency_key="other", branch="dev").commit.id != first.commit.id


def test_the_same_text_with_other_parameters_is_another_request(graph: Graph) -> None:
    text = "query q($n: String) { insert Person { name: $n } }"
    graph.mutate(text, {"n": "x"}, idempotency_key="k")
    with pytest.raises(Conflict):
        graph.mutate(text, {"n": "y"}, idempotency_key="k")


def test_what_changes_nothing_makes_no_commit(graph: Graph) -> None:
    before = len(graph.commits.list().commits)
    assert run(graph, 'delete Person where name = "nobody"').commit is None
    assert run(graph, 'update Person set { age: 1 } where name = "nobody"').commit is None
    assert len(graph.commits.list().commits) == before


# --- other writers ---


def meanwhile(graph: Graph, statements: str) -> None:
    """Another mutation gets in once, after this one was prepared."""

    def act() -> None:
        faults.clear()
        run(graph, statements)

    faults.arm("attempt.prepared", act)


def test_inserts_are_prepared_again_on_a_moved_head(graph: Graph) -> None:
    meanwhile(graph, 'insert Person { name: "other" }')
    run(graph, 'insert Person { name: "mine" }')
    assert {"other", "mine"} <= people(graph).keys()


@pytest.mark.parametrize(
    "statement", ["update Person set { age: 1 } where age = 10", "delete Person where age = 10"]
)
def test_updates_and_deletes_on_a_moved_head_are_conflicts(graph: Graph, statement: str) -> None:
    meanwhile(graph, 'insert Person { name: "other", age: 10 }')
    with pytest.raises(Conflict):
        run(graph, statement)
    assert people(graph)["a"]["age"] == 10


def test_an_edge_is_not_inserted_to_a_node_that_went_meanwhile(graph: Graph) -> None:
    meanwhile(graph, 'delete Person where name = "e"')
    with pytest.raises(ValidationFailure):
        run(graph, 'insert Knows { from: "a", to: "e" }')


def test_a_node_is_not_deleted_when_it_got_an_edge_meanwhile(graph: Graph) -> None:
    meanwhile(graph, 'insert Knows { from: "a", to: "e" }')
    with pytest.raises(Conflict):
        run(graph, 'delete Person where name = "e"')
    assert "e" in people(graph)


def test_an_interrupted_mutation_leaves_nothing(graph: Graph) -> None:
    before = records(graph)

    def interrupt() -> None:
        raise KeyboardInterrupt

    for point in (
        "attempt.captured",
        "attempt.prepared",
        "attempt.armed",
        "attempt.tables_committed",
    ):
        faults.arm(point, interrupt)
        with pytest.raises(KeyboardInterrupt):
            run(graph, 'insert Person { name: "x" }')
        faults.clear()
        assert records(graph) == before
    assert run(graph, 'insert Person { name: "x" }').commit is not None


class TestExpressions:
    def test_set_computes_from_the_stored_row(self, graph: Graph) -> None:
        graph.mutate(
            """query q($by: I32) {
                update Person as $p set { age: $p.age * 2 + $by, city: upper(city) } where age < 30
            }""",
            params={"by": 1},
        )
        assert ages(graph) == {"a": 21, "b": 41, "c": None, "d": 40, "e": 50}
        assert column(graph, "city")[:3] == ["BONN", "BONN", "Bonn"]

    def test_a_later_statement_sees_the_values_of_an_earlier_one(self, graph: Graph) -> None:
        graph.mutate(
            """query q() {
                insert Person { name: lower("F"), age: 1 + 2 }
                update Person set { age: age + 1 } where name in ["a", "f"]
                update Person set { age: age * 2 } where age < 12
            }"""
        )
        found = ages(graph)
        assert (found["a"], found["f"], found["b"]) == (22, 8, 20)

    def test_a_value_that_does_not_fit_is_refused_and_nothing_is_written(
        self, graph: Graph
    ) -> None:
        with pytest.raises(ValidationFailure) as caught:
            graph.mutate(
                'query q() { update Person set { age: age * 100000000 } where name = "e" }'
            )
        assert "age" in caught.value.message
        with pytest.raises(ValidationFailure):
            graph.mutate('query q() { update Person set { age: age * 4 } where name = "e" }')
        assert ages(graph)["e"] == 50

    def test_deletes_filter_by_expressions(self, graph: Graph) -> None:
        graph.mutate(
            "query q() { delete Person as $p where $p.age % 20 = 0 or length($p.name) > 1 }"
        )
        assert list(ages(graph)) == ["a", "c", "e"]


def ages(graph: Graph) -> dict[str, int | None]:
    query = "query q() { match { $p: Person } return { $p.name as n, $p.age as a } }"
    return {row["n"]: row["a"] for row in graph.query(query).rows()}


def column(graph: Graph, name: str) -> list[Any]:
    query = (
        f"query q() {{ match {{ $p: Person }} return {{ $p.{name} as x }} order {{ $p.name }} }}"
    )
    return [row["x"] for row in graph.query(query).rows()]
