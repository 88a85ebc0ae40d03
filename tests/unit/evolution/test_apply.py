"""A schema becomes that of a branch: in one commit, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.api.commits import Counts, WriterKind
from omnigraph.errors import (
    Conflict,
    GraphError,
    PreconditionFailed,
    SchemaFailure,
    Unsupported,
    ValidationFailure,
)
from omnigraph.graph.facade import EmbeddedGraph
from omnigraph.ports.tables import ROW_ID
from omnigraph.testing.kit import add, ids_of, new_engine, open_engine, table_of
from omnigraph.testing.kit_between import Between, Interruption
from omnigraph.testing.processes import ProcessGroup, Script, step
from omnigraph.testing.verify import require_whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from omnigraph.session.engine import Engine

SCHEMA = """
node Person {
    name: String @key
    age: I32?
    city: String?
    mood: enum(good, bad)?
}

node Place {
    name: String @key
}

edge Knows: Person -> Person {
    since: I32?
}
"""

PEOPLE = """query q() {
    insert Person { name: "Ada", age: 36, city: "London", mood: "good" }
    insert Person { name: "Bob", age: 17, city: "London" }
    insert Person { name: "Cy" }
    insert Place { name: "here" }
    insert Knows { from: "Ada", to: "Bob", since: 1 }
    insert Knows { from: "Ada", to: "Cy" }
}"""


@pytest.fixture
def graph(tmp_path: Path) -> EmbeddedGraph:
    found = EmbeddedGraph(new_engine(tmp_path / "g.omni", schema=SCHEMA), actor="ada")
    found.mutate(PEOPLE)
    return found


def engine_of(graph: EmbeddedGraph) -> Engine:
    return graph._engine


def head(graph: EmbeddedGraph, branch: str = "main") -> str:
    return engine_of(graph).resolver.resolve(branch).commit.id


def rows(
    graph: EmbeddedGraph, target: str = "main", of: str = "Person"
) -> dict[str, dict[str, Any]]:
    """Entities by id, their values by the names that the schema of the target gives them."""
    snapshot = engine_of(graph).snapshot(target)
    entity = snapshot.catalog.entity(of)
    assert entity is not None
    found = snapshot.table(entity.id).scan().to_pylist()
    names = {prop.column: prop.name for prop in entity.properties}
    return {row["id"]: {names[k]: v for k, v in row.items() if k in names} for row in found}


def edited(old: str, new: str) -> str:
    assert old in SCHEMA
    return SCHEMA.replace(old, new)


# --- what can change ---


def test_a_property_comes_without_values(graph: EmbeddedGraph) -> None:
    before = head(graph)
    done = graph.apply_schema(edited("age: I32?", "age: I32?\n    nick: String?"), message="why")
    assert done.applied
    assert done.commit is not None
    commit = graph.commits.show(done.commit.id)
    assert (commit.kind, commit.actor, commit.message) == (WriterKind.SCHEMA, "ada", "why")
    assert commit.parent is not None
    assert commit.parent.id == before
    assert commit.counts == Counts(), "nobody got a value"
    assert rows(graph)["Ada"] == {
        "name": "Ada", "age": 36, "nick": None, "city": "London", "mood": "good",
    }  # fmt: skip
    graph.mutate('query q() { update Person set { nick: "A" } where name = "Ada" }')
    assert rows(graph)["Ada"]["nick"] == "A"
    require_whole(engine_of(graph))


def test_a_required_property_comes_with_its_default(graph: EmbeddedGraph) -> None:
    done = graph.apply_schema(edited("age: I32?", 'age: I32?\n    kind: String @default("human")'))
    assert {row["kind"] for row in rows(graph).values()} == {"human"}
    assert done.commit is not None
    assert done.commit.counts == Counts(nodes_updated=3)


def test_values_come_from_another_property_or_a_constant(graph: EmbeddedGraph) -> None:
    text = edited("city: String?", "town: String  label: String")
    text = text.replace("since: I32?", "since: I32  start: String")
    fill = {"Person.town": '"?"', "Person.label": "name", "Knows.since": 0, "Knows.start": "src"}
    graph.apply_schema(text, backfill=fill)
    assert rows(graph)["Cy"] == {
        "name": "Cy", "age": None, "town": "?", "label": "Cy", "mood": None,
    }  # fmt: skip
    assert sorted(row["since"] for row in rows(graph, of="Knows").values()) == [0, 1]
    assert {row["start"] for row in rows(graph, of="Knows").values()} == {"Ada"}
    require_whole(engine_of(graph))


def test_values_are_joined_and_gaps_are_filled_from_several_places(graph: EmbeddedGraph) -> None:
    before = rows(graph)
    text = edited("city: String?", "city: String  label: String?  where: String?")
    fill = {
        "Person.city": 'coalesce(mood, "of " + name)',
        "Person.label": 'name + ", " + city',
        "Person.where": 'coalesce(city, mood, "nowhere")',
    }
    graph.apply_schema(text, backfill=fill)
    after = rows(graph)
    for name, row in before.items():
        city, mood = row["city"], row["mood"]
        assert after[name]["city"] == (city or mood or f"of {name}")
        # What was there before the change counts, and a text that is missing leaves none.
        assert after[name]["label"] == (f"{name}, {city}" if city else None)
        assert after[name]["where"] == (city or mood or "nowhere")
    assert {row["city"] is None for row in before.values()} == {True, False}
    require_whole(engine_of(graph))


@pytest.mark.parametrize(
    ("rule", "helps"),
    [("city: String", "with a backfill"), ("city: String? @unique", "on this branch")],
)
def test_what_stands_in_the_way_says_what_helps(
    graph: EmbeddedGraph, rule: str, helps: str
) -> None:
    graph.mutate('query q() { insert Person { name: "Di", city: "London" } }')
    with pytest.raises(ValidationFailure) as refused:
        graph.apply_schema(edited("city: String?", rule))
    assert helps in str(refused.value.remedy)


def test_names_change_and_nothing_else_does(graph: EmbeddedGraph) -> None:
    snapshot = engine_of(graph).snapshot()
    text = SCHEMA.replace("node Person", 'node Human @rename_from("Person")')
    text = text.replace("Person ->", "Human ->").replace("-> Person", "-> Human")
    text = text.replace("city: String?", 'home: String? @rename_from("city")')
    text = text.replace("Knows: Human -> Human", 'HasMet: Human -> Human @rename_from("Knows")')
    graph.apply_schema(text)
    after = engine_of(graph).snapshot()
    assert after.manifest.pins == snapshot.manifest.pins, "no table has moved"
    assert rows(graph, of="Human")["Ada"]["home"] == "London"
    assert len(rows(graph, of="HasMet")) == 2


def test_types_get_wider(graph: EmbeddedGraph) -> None:
    text = edited("age: I32?", "age: F64?").replace("since: I32?", "since: I64?")
    graph.apply_schema(text.replace("mood: enum(good, bad)?", "mood: String?"))
    ada = rows(graph)["Ada"]
    assert (ada["age"], type(ada["age"]), ada["mood"]) == (36.0, float, "good")
    assert rows(graph, of="Knows")
    graph.mutate('query q() { insert Person { name: "Di", age: 0.5, mood: "any" } }')
    assert rows(graph)["Di"]["age"] == 0.5


def test_a_dropped_property_is_gone_and_history_has_it(graph: EmbeddedGraph) -> None:
    before = head(graph)
    graph.apply_schema(edited("    city: String?\n", ""))
    assert "city" not in rows(graph)["Ada"]
    assert rows(graph, before)["Ada"]["city"] == "London"
    graph.apply_schema(SCHEMA)
    assert rows(graph)["Ada"]["city"] is None, "what comes back is another property"
    ids = {graph.at(at).catalog.nodes[0].by_name["city"].id for at in (before, "main")}
    assert len(ids) == 2


def test_a_dropped_type_is_gone_and_history_has_it(graph: EmbeddedGraph) -> None:
    before = head(graph)
    text = SCHEMA[: SCHEMA.index("node Place")] + SCHEMA[SCHEMA.index("edge Knows") :]
    done = graph.apply_schema(text)
    assert done.commit is not None
    assert done.commit.counts == Counts(nodes_deleted=1)
    assert done.commit.hard_drops == ()
    assert len(engine_of(graph).snapshot().manifest.pins) == 2
    assert ids_of(engine_of(graph), before, of="Place") == ["here"]
    graph.apply_schema(SCHEMA)
    assert ids_of(engine_of(graph), of="Place") == []
    paths = [engine_of(graph).snapshot(at).manifest.pins for at in (before, "main")]
    assert len({pin.path for pins in paths for pin in pins.values()}) == 4, "another directory"


def test_a_hard_drop_is_written_down_in_the_commit(graph: EmbeddedGraph) -> None:
    catalog = graph.catalog
    person, place = catalog.nodes
    text = SCHEMA[: SCHEMA.index("node Place")] + SCHEMA[SCHEMA.index("edge Knows") :]
    done = graph.apply_schema(text.replace("    city: String?\n", ""), allow_data_loss=True)
    assert done.commit is not None
    expected = {place.id, f"{person.id}/{person.by_name['city'].id}"}
    assert set(done.commit.hard_drops) == expected
    again = open_engine(graph.uri)
    assert set(again.lineage.get(done.commit.id).hard_drops) == expected


def test_a_new_type_takes_writes_at_once(graph: EmbeddedGraph) -> None:
    graph.apply_schema(f"{SCHEMA}\nnode Pet {{ name: String @key }}\nedge Owns: Person -> Pet")
    graph.mutate('query q() { insert Pet { name: "Rex" } insert Owns { from: "Ada", to: "Rex" } }')
    assert ids_of(engine_of(graph), of="Pet") == ["Rex"]
    require_whole(engine_of(graph))


def test_rows_keep_their_identity(graph: EmbeddedGraph) -> None:
    def row_ids() -> dict[str, int]:
        found = table_of(engine_of(graph)).scan(["id"], row_ids=True).to_pylist()
        return {row["id"]: row[ROW_ID] for row in found}

    before = row_ids()
    graph.apply_schema(edited("age: I32?", 'age: I64?  kind: String @default("x")'))
    assert row_ids() == before


# --- what the data must allow ---


@pytest.mark.parametrize(
    ("old", "new", "rule", "culprits"),
    [
        ("age: I32?", "age: I32", "required", {"Cy"}),
        ("city: String?", "city: String? @unique", "unique", {"Bob"}),
        ("age: I32?", "age: I32? @range(18..99)", "range", {"Bob"}),
        ("city: String?", 'city: String? @check("P.*")', "check", {"Ada", "Bob"}),
        ("mood: enum(good, bad)?", "mood: enum(bad)?", "enum", {"Ada"}),
        ("city: String?", "city: enum(Paris)?", "enum", {"Ada", "Bob"}),
        ("-> Person", "-> Person @card(0..1)", "cardinality", {"Ada"}),
        ("-> Person", "-> Person @card(1..2)", "cardinality", {"Bob", "Cy"}),
    ],
)
def test_a_tighter_rule_names_who_breaks_it(
    graph: EmbeddedGraph, old: str, new: str, rule: str, culprits: set[str]
) -> None:
    before = head(graph)
    with pytest.raises(ValidationFailure) as caught:
        graph.apply_schema(edited(old, new))
    assert caught.value.code == f"data.{rule}"
    assert {found["id"] for found in caught.value.details["violations"]} == culprits
    assert head(graph) == before
    with pytest.raises(ValidationFailure):
        graph.apply_schema(edited(old, new), dry_run=True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("age: I32?", "age: I32? @range(0..99)"),
        ("city: String?", 'city: String? @check("L.*")'),
        ("mood: enum(good, bad)?", "mood: enum(good)?"),
        ("city: String?", "city: enum(London, Paris)?"),
        ("Knows: Person -> Person", "Knows: Person -> Person @card(0..2)"),
        ("since: I32?", "since: I32? @unique"),
    ],
)
def test_a_tighter_rule_that_the_data_obeys_is_accepted_and_holds(
    graph: EmbeddedGraph, old: str, new: str
) -> None:
    assert graph.apply_schema(edited(old, new)).applied
    with pytest.raises(GraphError):
        graph.mutate(
            """query q() {
                insert Person { name: "Zed", age: 200, city: "Rome", mood: "bad" }
                insert Knows { from: "Ada", to: "Ada", since: 1 }
            }"""
        )
    require_whole(engine_of(graph))


def test_a_new_edge_may_demand_what_no_node_has(graph: EmbeddedGraph) -> None:
    with pytest.raises(ValidationFailure) as caught:
        graph.apply_schema(f"{SCHEMA}\nedge Lives: Person -> Place @card(1..1)")
    assert caught.value.details["total"] == 3
    assert {found["id"] for found in caught.value.details["violations"]} == {"Ada", "Bob", "Cy"}


def test_filled_values_obey_every_rule_of_their_property(graph: EmbeddedGraph) -> None:
    def refused(declared: str, value: Any) -> str:
        with pytest.raises(ValidationFailure) as caught:
            graph.apply_schema(edited("age: I32?", f"age: I32?  {declared}"), backfill=value)
        return caught.value.code

    assert refused("n: I64? @range(0..9)", {"Person.n": "age"}) == "data.range"
    assert refused("n: String @unique", {"Person.n": '"x"'}) == "data.unique"
    assert refused("n: String", {"Person.n": "city"}) == "data.required"
    assert refused("n: String", {"Person.n": 'name + " of " + city'}) == "data.required"
    assert refused("n: enum(good)?", {"Person.n": "city"}) == "data.enum"
    assert refused('n: String? @check("A.*")', {"Person.n": "name"}) == "data.check"
    assert refused('n: String @default("x") @unique', {}) == "data.unique"


def test_every_violation_is_told_at_once(graph: EmbeddedGraph) -> None:
    text = edited("age: I32?", "age: I32 @range(18..99)").replace(
        "Knows: Person -> Person", "Knows: Person -> Person @card(0..1)"
    )
    with pytest.raises(ValidationFailure) as caught:
        graph.apply_schema(text)
    assert caught.value.details["counts"] == {"cardinality": 1, "range": 1, "required": 1}


# --- what is refused ---


def test_an_empty_schema_drops_everything_only_when_that_is_said(graph: EmbeddedGraph) -> None:
    with pytest.raises(SchemaFailure) as caught:
        graph.apply_schema("// nothing")
    assert caught.value.code == "schema.empty"
    assert graph.catalog.types
    graph.apply_schema("", allow_data_loss=True)
    assert not graph.catalog.types


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("age: I32?", "age: String?"),
        ("name: String @key\n    age", "name: String\n    age"),
        ("age: I32?", "age: I32?  must: String"),
        ("Knows: Person -> Person", "Knows: Person -> Place"),
    ],
)
def test_a_refused_step_changes_nothing(graph: EmbeddedGraph, old: str, new: str) -> None:
    before = head(graph)
    for consent, rehearsal in ((False, False), (True, False), (False, True)):
        with pytest.raises(SchemaFailure) as caught:
            graph.apply_schema(edited(old, new), allow_data_loss=consent, dry_run=rehearsal)
        assert caught.value.code == "schema.refused"
        assert caught.value.details["supported"] is False
        assert caught.value.remedy
    assert head(graph) == before
    assert graph.schema


def test_a_required_property_comes_where_there_are_no_rows(graph: EmbeddedGraph) -> None:
    graph.mutate('query q() { delete Place where name = "here" }')
    text = edited(
        "node Place {\n    name: String @key", "node Place {\n    name: String @key\n    m: I32"
    )
    assert graph.apply_schema(text).applied


def test_bad_input_is_typed_and_changes_nothing(graph: EmbeddedGraph) -> None:
    before = head(graph)
    wrong: list[tuple[str, Callable[[], object]]] = [
        ("P", lambda: graph.apply_schema("node {")),
        ("S", lambda: graph.apply_schema("node A { b: String @unique @unique(c) }")),
        ("branch.missing", lambda: graph.apply_schema(SCHEMA, branch="nobody")),
        ("commit.precondition", lambda: graph.apply_schema("node A { b: String }", if_commit="x")),
        (
            "schema.backfill_unwanted",
            lambda: graph.apply_schema(
                edited("age: I32?", "age: I32?  n: String?"), backfill={"Person.name": "age"}
            ),
        ),
        (
            "schema.backfill_unknown",
            lambda: graph.apply_schema(SCHEMA, backfill={"Person.nobody": "age"}),
        ),
    ]
    for code, call in wrong:
        with pytest.raises(GraphError) as caught:
            call()
        assert caught.value.code.startswith(code), caught.value
    assert head(graph) == before


def test_a_graph_opened_for_reading_is_not_changed(graph: EmbeddedGraph) -> None:
    reader = EmbeddedGraph(open_engine(graph.uri, read_only=True))
    with pytest.raises(Unsupported):
        reader.apply_schema("node A { b: String }")
    assert reader.apply_schema(f"{SCHEMA}\nnode Pet {{ n: String }}", dry_run=True).plan.steps


# --- once, and in company ---


def test_applying_again_has_no_effect(graph: EmbeddedGraph) -> None:
    text = edited("age: I32?", "age: I32  n: String").replace("city: String?", "")
    fill = {"Person.age": 0, "Person.n": "name"}
    first = graph.apply_schema(text, backfill=fill)
    again = graph.apply_schema(text, backfill=fill)
    assert first.applied
    assert not again.applied
    assert again.plan.steps == ()
    assert again.to_json()["graph_manifest_version"] == first.to_json()["graph_manifest_version"]
    assert graph.plan_schema(text, backfill=fill).steps == ()
    assert not graph.apply_schema(graph.schema).applied, "what is shown can be applied"


def test_a_rehearsal_writes_nothing_at_all(graph: EmbeddedGraph, tmp_path: Path) -> None:
    def files() -> set[str]:
        return {str(path) for path in (tmp_path / "g.omni").rglob("*") if path.is_file()}

    before = files()
    text = f"{edited('age: I32?', 'age: I64?  n: String')}\nnode Pet {{ n: String }}"
    done = graph.apply_schema(text, backfill={"Person.n": "name"}, dry_run=True)
    assert done.to_json()["dry_run"]
    assert not done.applied
    assert len(done.plan.steps) == 3
    assert files() == before


def test_a_branch_has_a_schema_of_its_own(graph: EmbeddedGraph) -> None:
    graph.branches.create("dev")
    graph.apply_schema(edited("age: I32?", "age: I64?  n: String?"), branch="dev")
    graph.mutate('query q() { insert Person { name: "Di", age: 1 } }')
    graph.mutate(
        'query q() { insert Person { name: "Ed", age: 9000000000, n: "x" } }', branch="dev"
    )
    assert set(rows(graph)) == {"Ada", "Bob", "Cy", "Di"}
    assert set(rows(graph, "dev")) == {"Ada", "Bob", "Cy", "Ed"}
    assert "n" not in rows(graph)["Ada"]
    assert rows(graph, "dev")["Ed"]["age"] == 9_000_000_000
    require_whole(engine_of(graph))


def test_other_branches_keep_what_one_drops(graph: EmbeddedGraph) -> None:
    graph.branches.create("dev")
    graph.apply_schema("node Person { name: String @key }", allow_data_loss=True)
    assert rows(graph, "dev")["Ada"]["city"] == "London"
    assert ids_of(engine_of(graph), "dev", of="Place") == ["here"]
    graph.mutate('query q() { insert Place { name: "there" } }', branch="dev")
    assert ids_of(engine_of(graph), "dev", of="Place") == ["here", "there"]
    require_whole(engine_of(graph))


def racing(graph: EmbeddedGraph, action: Callable[[EmbeddedGraph], object]) -> EmbeddedGraph:
    """A graph on which somebody else acts while the next attempt is arming."""
    other = EmbeddedGraph(open_engine(graph.uri))

    def act() -> None:
        action(other)

    interruption = Interruption("put_if_absent", act, prefix="__recovery")
    return EmbeddedGraph(
        open_engine(graph.uri, wrap_objects=lambda inner: Between(inner, [interruption]))
    )


def test_rows_that_come_meanwhile_are_taken_along(graph: EmbeddedGraph) -> None:
    late = racing(graph, lambda other: other.mutate('query q() { insert Person { name: "Di" } }'))
    done = late.apply_schema(edited("age: I32?", 'age: I64?  kind: String @default("x")'))
    assert done.applied
    assert {key: row["kind"] for key, row in rows(graph).items()} == dict.fromkeys(
        ["Ada", "Bob", "Cy", "Di"], "x"
    )
    require_whole(engine_of(graph))


def test_rows_that_come_meanwhile_are_checked_too(graph: EmbeddedGraph) -> None:
    late = racing(
        graph, lambda other: other.mutate('query q() { insert Person { name: "Di", age: 1 } }')
    )
    with pytest.raises(ValidationFailure) as caught:
        late.apply_schema(edited("age: I32?", "age: I32? @range(17..99)"))
    assert [found["id"] for found in caught.value.details["violations"]] == ["Di"]


def test_a_type_that_gets_rows_meanwhile_is_not_empty_any_more(graph: EmbeddedGraph) -> None:
    graph.mutate('query q() { delete Place where name = "here" }')
    late = racing(graph, lambda other: other.mutate('query q() { insert Place { name: "x" } }'))
    text = edited(
        "node Place {\n    name: String @key", "node Place {\n    name: String @key\n    m: I32"
    )
    with pytest.raises(SchemaFailure) as caught:
        late.apply_schema(text)
    assert caught.value.code == "schema.refused"


def test_of_two_schema_changes_one_has_to_look_again(graph: EmbeddedGraph) -> None:
    text = f"{SCHEMA}\nnode Pet {{ name: String }}"
    late = racing(graph, lambda other: other.apply_schema(text))
    with pytest.raises(Conflict) as caught:
        late.apply_schema(edited("age: I32?", "age: I64?"))
    assert caught.value.code == "schema.changed"
    assert graph.catalog.node("Pet") is not None
    require_whole(engine_of(graph))


def test_an_insert_that_was_prepared_on_the_old_schema_is_prepared_again(
    graph: EmbeddedGraph,
) -> None:
    text = edited("age: I32?", 'age: I32?  kind: String @default("x")')
    late = racing(graph, lambda other: other.apply_schema(text))
    late.mutate('query q() { insert Person { name: "Di" } }')
    assert rows(graph)["Di"]["kind"] == "x"


def test_an_update_that_was_prepared_on_the_old_schema_is_a_conflict(graph: EmbeddedGraph) -> None:
    late = racing(graph, lambda other: other.apply_schema(edited("age: I32?", "age: I64?")))
    with pytest.raises(Conflict) as caught:
        late.mutate('query q() { update Person set { age: 1 } where name = "Ada" }')
    assert caught.value.code == "schema.changed"
    assert rows(graph)["Ada"]["age"] == 36


def test_the_condition_on_the_head_holds(graph: EmbeddedGraph) -> None:
    before = head(graph)
    graph.mutate('query q() { insert Place { name: "x" } }')
    with pytest.raises(PreconditionFailed):
        graph.apply_schema(edited("age: I32?", "age: I64?"), if_commit=before)
    assert graph.apply_schema(edited("age: I32?", "age: I64?"), if_commit=head(graph)).applied


def test_writes_that_do_not_meet_go_on(tmp_path: Path) -> None:
    """Only what the change looks at or writes has to stand still."""
    graph = EmbeddedGraph(new_engine(tmp_path / "g.omni"))
    late = racing(graph, lambda other: add(engine_of(other), ["p"]))
    schema = graph.schema.replace("node Place {", "node Place {\n    size: I64?")
    done = late.apply_schema(schema)
    assert done.commit is not None
    assert ids_of(engine_of(graph)) == ["p"]
    assert ids_of(engine_of(graph), done.commit.id) == ["p"]


def test_schemas_change_while_other_processes_write(tmp_path: Path) -> None:
    """Every acknowledged row is there, in the shape of whatever schema came last."""
    graph = EmbeddedGraph(new_engine(tmp_path / "g.omni"))
    plain = graph.schema
    more = plain.replace("age: I64?", 'age: I64?\n    kind: String @default("x")')
    scripts = [
        (step("open"), *(step("add", ids={"Person": [f"{child}-{n}"]}) for n in range(25)))
        for child in range(2)
    ]
    with ProcessGroup() as crew:
        children = [crew.start(Script(graph.uri, steps)) for steps in scripts]
        applied = 0
        while any(child.is_alive() for child in children) or applied % 2 == 0:
            applied += graph.apply_schema(plain if applied % 2 else more).applied
        outcomes = [outcome for child in children for outcome in child.join()]
    writes = [outcome for outcome in outcomes if outcome.step.verb == "add"]
    done = {write.step.arguments["ids"]["Person"][0] for write in writes if write.is_done}
    lost = [outcome for outcome in outcomes if not outcome.is_done]
    assert {outcome.code for outcome in lost} <= {"schema.changed", "pin.changed", "publish.stale"}
    assert set(rows(graph)) == done
    assert {row["kind"] for row in rows(graph).values()} == {"x"}
    require_whole(engine_of(graph))
