"""Decisions about schemas: what was dropped and kept, given twice, picked or taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.errors import MergeConflict
from omnigraph.graph.facade import EmbeddedGraph
from omnigraph.testing.histories import branch_off, state_of, write
from omnigraph.testing.kit import new_engine
from omnigraph.testing.verify import require_whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from omnigraph.session.engine import Engine

NOTE = "    note: String?\n"
PLACE = "node Place { name: String @key }\n"
SCHEMA = f"""
node Person {{
    name: String @key
    age: I32?
    city: String?
{NOTE}}}
{PLACE}
edge Knows: Person -> Person {{ since: I64? }}
edge Visits: Person -> Place
"""
WITHOUT_NOTE = SCHEMA.replace(NOTE, "")
WITHOUT_VISITS = SCHEMA.replace("edge Visits: Person -> Place", "")
WITHOUT_PLACE = WITHOUT_VISITS.replace(PLACE, "")
RENAMED_NOTE = SCHEMA.replace("note: String?", 'remark: String? @rename_from("note")')


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = new_engine(tmp_path / "g", schema=SCHEMA)
    people = {name: person(name, note=name.upper()) for name in ("ada", "bob", "cyd")}
    write(engine, {"Person": people, "Place": {"rome": {"name": "rome"}}})
    branch_off(engine, "dev")
    yield engine
    # Whatever was done: every pin opens, every edge has its nodes, every rule holds.
    require_whole(engine)


@pytest.fixture
def graph(engine: Engine) -> EmbeddedGraph:
    return EmbeddedGraph(engine)


def person(name: str, **values: Any) -> dict[str, Any]:
    return {"name": name, **values}


def people(engine: Engine, target: str = "main") -> dict[str, dict[str, Any]]:
    return state_of(engine, target)["Person"]


def conflicts(graph: EmbeddedGraph) -> Any:
    return graph.merge("dev", preview=True).conflicts


def messages(graph: EmbeddedGraph, source: str = "dev", into: str = "main") -> list[str]:
    return [conflict.message for conflict in graph.merge(source, into=into, preview=True).conflicts]


# --- what one side dropped and the other uses ----------------------------------------------------


@pytest.mark.parametrize("dropped_by", ["main", "dev"])
def test_a_new_entity_with_a_value_of_what_was_dropped_is_asked_about(
    engine: Engine, graph: EmbeddedGraph, dropped_by: str
) -> None:
    uses = "dev" if dropped_by == "main" else "main"
    marked = SCHEMA.replace(NOTE, NOTE + '    kind: String? @default("x")\n')
    graph.apply_schema(marked)
    graph.merge("main", into="dev")
    graph.apply_schema(WITHOUT_NOTE, branch=dropped_by)
    # Neither a default nor a value that is missing says anything about its property.
    write(engine, {"Person": {"eve": person("eve", kind="x")}}, branch=uses)
    assert conflicts(graph) == ()
    write(engine, {"Person": {"fay": person("fay", note="hello", kind="x")}}, branch=uses)
    (found,) = conflicts(graph)
    assert "values of property note, which the other side dropped" in found.message
    graph.merge("dev", strategy="ours")
    assert ("note" in people(engine)["fay"]) == (uses == "main")


def test_each_property_that_was_dropped_is_decided_by_itself(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    bare = WITHOUT_NOTE.replace("    city: String?\n", "").replace("    age: I32?\n", "")
    graph.apply_schema(bare)
    changed = person("ada", note="new", city="kiel")
    write(engine, {"Person": {"ada": changed}}, branch="dev")
    found = {each.message.split("property ")[1].split(",")[0]: each for each in conflicts(graph)}
    assert set(found) == {"note", "city"}
    choices = [
        {"conflict_id": found["note"].conflict_id, "take": "theirs"},
        {"conflict_id": found["city"].conflict_id, "take": "ours"},
    ]
    graph.merge("dev", resolutions=choices)
    assert people(engine)["ada"] == person("ada", note="new")
    # Nobody had used it on the other side: it stays dropped.
    assert "age" not in graph.schema


@pytest.mark.parametrize("dropper", ["ours", "theirs"])
def test_a_property_that_is_kept_has_all_its_values_whoever_had_dropped_it(
    engine: Engine, graph: EmbeddedGraph, dropper: str
) -> None:
    dropping, using = ("main", "dev") if dropper == "ours" else ("dev", "main")
    graph.apply_schema(WITHOUT_NOTE, branch=dropping)
    # The dropping side rewrites rows that it cannot see the note of.
    changed = {"bob": person("bob", city="kiel"), "eve": person("eve", city="bonn")}
    write(engine, {"Person": changed | {"cyd": person("cyd", city="oslo")}}, branch=dropping)
    noted = {"ada": person("ada", note="new"), "cyd": person("cyd", note="too")}
    write(engine, {"Person": noted}, branch=using)
    keeper = "theirs" if dropper == "ours" else "ours"
    branch_off(engine, "gone")
    graph.merge("dev", strategy=keeper)
    assert people(engine) == {
        "ada": person("ada", note="new"),
        "bob": person("bob", city="kiel", note="BOB"),
        "cyd": person("cyd", city="oslo", note="too"),
        "eve": person("eve", city="bonn"),
    }
    graph.merge("dev", into="gone", strategy=dropper)
    assert people(engine, "gone") == {
        "ada": person("ada"),
        "bob": person("bob", city="kiel"),
        "cyd": person("cyd", city="oslo"),
        "eve": person("eve", city="bonn"),
    }


@pytest.mark.parametrize("more", ["", "    nick: String?\n"])
def test_a_property_that_one_side_renamed_and_the_other_dropped_comes_back_whole(
    engine: Engine, graph: EmbeddedGraph, more: str
) -> None:
    # With a column of its own, ours cannot be written on top of theirs.
    graph.apply_schema(SCHEMA.replace(NOTE, more))
    graph.apply_schema(RENAMED_NOTE, branch="dev")
    assert messages(graph) == ["Person: one side dropped property remark, and the other changed it"]
    graph.merge("dev", strategy="theirs")
    assert people(engine) == {
        name: person(name, remark=name.upper()) for name in ("ada", "bob", "cyd")
    }


def test_a_type_that_ours_dropped_and_theirs_renamed_comes_back(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    graph.apply_schema(WITHOUT_PLACE)
    renamed = WITHOUT_VISITS.replace("node Place", 'node Town @rename_from("Place")')
    graph.apply_schema(renamed, branch="dev")
    graph.merge("dev", strategy="theirs")
    assert state_of(engine)["Town"] == {"rome": {"name": "rome"}}


def test_edges_that_come_back_are_held_against_the_nodes_that_went(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    write(engine, {"Visits": {"v": {"from": "ada", "to": "rome"}}}, branch="dev")
    branch_off(engine, "target", "dev")
    graph.apply_schema(WITHOUT_VISITS, branch="target")
    write(engine, {}, {"Place": ["rome"]}, branch="target")
    renamed = SCHEMA.replace("edge Visits: Person -> Place", "edge Saw: Person -> Place")
    graph.apply_schema(renamed.replace("-> Place", '-> Place @rename_from("Visits")'), branch="dev")
    graph.merge("dev", into="target", strategy="theirs")
    after = state_of(engine, "target")
    assert (set(after["Saw"]), set(after["Place"])) == ({"v"}, {"rome"})


def test_edges_that_are_kept_keep_their_nodes(engine: Engine, graph: EmbeddedGraph) -> None:
    graph.apply_schema(WITHOUT_PLACE, branch="dev")
    write(engine, {"Visits": {"v": {"from": "ada", "to": "rome"}}})
    branch_off(engine, "gone")
    graph.merge("dev", strategy="ours")
    assert set(state_of(engine)["Place"]) == {"rome"}
    graph.merge("dev", into="gone", strategy="theirs")
    assert {"Place", "Visits"}.isdisjoint(state_of(engine, "gone"))


def test_a_new_type_can_be_brought_without_the_edges_that_lost_their_node(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    graph.apply_schema(SCHEMA + "edge Likes: Person -> Person\n", branch="dev")
    likes = {"l": {"from": "ada", "to": "bob"}, "m": {"from": "ada", "to": "ada"}}
    write(engine, {"Likes": likes}, branch="dev")
    write(engine, {}, {"Person": ["bob"]})
    assert messages(graph) == ["Likes 'l' needs the node 'bob', which ours deleted"]
    graph.merge("dev", strategy="ours")
    assert set(state_of(engine)["Likes"]) == {"m"}


# --- dropped and made again ----------------------------------------------------------------------


def test_a_type_made_again_is_another_one_and_one_of_the_two_is_chosen(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    graph.apply_schema(WITHOUT_PLACE, branch="dev")
    graph.apply_schema(SCHEMA, branch="dev")
    write(engine, {"Place": {"oslo": {"name": "oslo"}}}, branch="dev")
    branch_off(engine, "untouched")
    graph.merge("dev", into="untouched")
    assert set(state_of(engine, "untouched")["Place"]) == {"oslo"}
    write(engine, {"Place": {"kiel": {"name": "kiel"}}})
    with pytest.raises(MergeConflict):
        graph.merge("dev")
    for strategy, places in (("ours", {"rome", "kiel"}), ("theirs", {"oslo"})):
        branch_off(engine, strategy)
        graph.merge("dev", into=strategy, strategy=strategy)
        assert set(state_of(engine, strategy)["Place"]) == places


def test_a_property_that_both_made_alike_is_one_wherever_it_lies(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    # The column of this name is taken on one side, by what was born with it.
    graph.apply_schema(WITHOUT_NOTE)
    graph.apply_schema(RENAMED_NOTE, branch="dev")
    graph.merge("dev", strategy="ours")
    graph.apply_schema(SCHEMA)
    renamed = RENAMED_NOTE.replace(' @rename_from("note")', "")
    graph.apply_schema(renamed.replace("    remark", NOTE + "    remark"), branch="dev")
    write(engine, {"Person": {"ada": person("ada", note="ours")}})
    write(engine, {"Person": {"bob": person("bob", note="theirs", remark="BOB")}}, branch="dev")
    assert conflicts(graph) == ()
    graph.merge("dev")
    found = people(engine)
    assert (found["ada"]["note"], found["bob"]["note"]) == ("ours", "theirs")


@pytest.mark.parametrize(("strategy", "city"), [("ours", "rome"), ("theirs", "kiel")])
def test_a_name_that_is_given_back_may_be_taken_by_a_third_one(
    engine: Engine, graph: EmbeddedGraph, strategy: str, city: str
) -> None:
    write(engine, {"Person": {"ada": person("ada", city="rome", note="ADA")}})
    graph.merge("main", into="dev")
    graph.apply_schema(SCHEMA.replace(NOTE, '    word: String? @rename_from("note")\n'))
    moved = SCHEMA.replace("city: String?", 'word: String? @rename_from("city")')
    graph.apply_schema(moved, branch="dev")
    more = moved.replace(' @rename_from("city")', "").replace(NOTE, NOTE + "    city: String?\n")
    graph.apply_schema(more, branch="dev")
    write(engine, {"Person": {"ada": person("ada", word="rome", city="kiel")}}, branch="dev")
    (found,) = conflicts(graph)
    assert "both sides added a property named word" in found.message
    graph.merge("dev", strategy=strategy)
    assert people(engine)["ada"]["city"] == city


def test_a_property_made_again_has_none_of_the_old_values(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    graph.apply_schema(WITHOUT_NOTE, branch="dev")
    graph.apply_schema(SCHEMA, branch="dev")
    write(engine, {"Person": {"bob": person("bob", note="new")}}, branch="dev")
    write(engine, {"Person": {"ada": person("ada", note="ADA", city="kiel")}})
    graph.merge("dev")
    assert people(engine) == {
        "ada": person("ada", city="kiel"),
        "bob": person("bob", note="new"),
        "cyd": person("cyd"),
    }


def test_two_properties_with_one_column_are_told_apart_also_by_later_merges(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    graph.apply_schema(RENAMED_NOTE)
    graph.apply_schema(WITHOUT_NOTE, branch="dev")
    graph.apply_schema(SCHEMA, branch="dev")
    write(engine, {"Person": {"bob": person("bob", note="new")}}, branch="dev")
    graph.merge("dev", strategy="ours")
    write(engine, {"Person": {"cyd": person("cyd", note="later")}}, branch="dev")
    write(engine, {"Person": {"ada": person("ada", remark="changed")}})
    graph.merge("dev")
    assert people(engine) == {
        "ada": person("ada", remark="changed"),
        "bob": person("bob", remark="BOB", note="new"),
        "cyd": person("cyd", remark="CYD", note="later"),
    }


# --- rows under the rules of the other side ------------------------------------------------------


def test_rows_that_lack_what_the_other_side_requires_can_be_given_it(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    required = SCHEMA.replace(NOTE, NOTE + "    label: String\n")
    graph.apply_schema(required, branch="dev", backfill={"Person.label": "name"})
    write(engine, {"Person": {"ada": person("ada", city="kiel"), "eve": person("eve")}})
    (found,) = graph.merge("dev", preview=True).conflicts
    assert (found.kind, found.id) == ("value_constraint_violation", "eve")
    choice = {"conflict_id": found.conflict_id, "take": {"value": {"label": "new"}}}
    graph.merge("dev", resolutions=[choice])
    assert {key: row["label"] for key, row in people(engine).items()} == {
        "ada": "ada",
        "bob": "bob",
        "cyd": "cyd",
        "eve": "new",
    }


@pytest.mark.parametrize("strategy", ["ours", "theirs"])
def test_a_property_that_both_sides_made_is_filled_as_the_chosen_side_filled_it(
    engine: Engine, graph: EmbeddedGraph, strategy: str
) -> None:
    for branch, value in (("main", "ours"), ("dev", "theirs")):
        made = SCHEMA.replace(NOTE, f'{NOTE}    kind: String @default("{value}")\n')
        graph.apply_schema(made, branch=branch)
        write(
            engine, {"Person": {f"new-{value}": person(f"new-{value}", kind=value)}}, branch=branch
        )
    (found,) = graph.merge("dev", preview=True).conflicts
    assert found.kind == "schema"
    graph.merge("dev", strategy=strategy)
    assert {key: row["kind"] for key, row in people(engine).items()} == {
        **dict.fromkeys(("ada", "bob", "cyd"), strategy),
        "new-ours": "ours",
        "new-theirs": "theirs",
    }


def test_a_property_that_both_sides_made_alike_is_merged_by_what_each_changed(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    made = SCHEMA.replace(NOTE, f'{NOTE}    kind: String @default("human")\n')
    for branch, key in (("main", "ada"), ("dev", "bob")):
        graph.apply_schema(made, branch=branch)
        changed = person(key, note=key.upper(), kind=f"seen on {branch}")
        write(engine, {"Person": {key: changed}}, branch=branch)
    graph.merge("dev")
    kinds = {key: row["kind"] for key, row in people(engine).items()}
    assert kinds == {"ada": "seen on main", "bob": "seen on dev", "cyd": "human"}


def test_unsigned_values_are_compared_across_schemas_too(tmp_path: Path) -> None:
    engine = new_engine(tmp_path / "u", schema="node N { name: String @key  u: U32? }")
    graph = EmbeddedGraph(engine)
    branch_off(engine, "dev")
    graph.apply_schema(
        "node N { name: String @key  u: U32?  v: String?\n @unique(u) }", branch="dev"
    )
    write(engine, {"N": {"c": {"name": "c", "u": 3}}}, branch="dev")
    write(engine, {"N": {"d": {"name": "d", "u": 3}}})
    (found,) = graph.merge("dev", preview=True).conflicts
    assert found.kind == "unique_violation"


# --- single commits ------------------------------------------------------------------------------


def test_a_picked_commit_is_not_held_against_types_that_it_left_alone(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    graph.apply_schema(SCHEMA.replace("age: I32?", "age: I64?"), branch="dev")
    commit = write(engine, {"Place": {"oslo": {"name": "oslo"}}}, branch="dev")
    assert commit is not None
    graph.cherry_pick(commit.id)
    assert set(state_of(engine)["Place"]) == {"rome", "oslo"}


def test_reverting_a_drop_brings_back_definitions_and_values_and_keeps_what_came_since(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    dropped = graph.apply_schema(WITHOUT_PLACE.replace(NOTE, "")).commit
    assert dropped is not None
    write(engine, {"Person": {"bob": person("bob", city="kiel"), "eve": person("eve")}})
    undone = graph.revert(dropped.id).commit
    assert undone is not None
    assert people(engine) == {
        "ada": person("ada", note="ADA"),
        "bob": person("bob", city="kiel", note="BOB"),
        "cyd": person("cyd", note="CYD"),
        "eve": person("eve"),
    }
    assert set(state_of(engine)["Place"]) == {"rome"}
    assert graph.revert(dropped.id).commit is None
    graph.revert(undone.id)
    assert "Place" not in state_of(engine)
    assert "note" not in people(engine)["ada"]


def test_reverting_a_wider_type_takes_the_rest_back_and_leaves_it_wide(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    change = graph.apply_schema(WITHOUT_NOTE.replace("age: I32?", "age: I64?")).commit
    assert change is not None
    write(engine, {"Person": {"eve": person("eve", age=2**40)}})
    graph.revert(change.id)
    assert people(engine)["eve"] == person("eve", age=2**40)
    assert people(engine)["ada"] == person("ada", note="ADA")


def test_reverting_a_list_of_wider_numbers_leaves_it_wide(tmp_path: Path) -> None:
    narrow = "node Person { name: String @key  marks: [I32]? }"
    engine = new_engine(tmp_path / "lists", schema=narrow)
    write(engine, {"Person": {"ada": person("ada", marks=[1])}})
    wide = EmbeddedGraph(engine).apply_schema(narrow.replace("I32", "I64")).commit
    assert wide is not None
    write(engine, {"Person": {"ada": person("ada", marks=[2**40])}})
    assert EmbeddedGraph(engine).revert(wide.id).commit is None
    assert people(engine)["ada"] == person("ada", marks=[2**40])


def test_reverting_what_has_been_used_since_is_a_conflict(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    more = SCHEMA.replace(NOTE, NOTE + '    kind: String @default("x")\n')
    added = graph.apply_schema(more + "node Pet { name: String @key }\n").commit
    assert added is not None
    used = {"Person": {"bob": person("bob", kind="y")}, "Pet": {"rex": {"name": "rex"}}}
    write(engine, used)
    told = graph.revert(added.id, preview=True).conflicts
    assert sorted((each.kind, each.entity.name) for each in told) == [
        ("schema", "Person"),
        ("schema", "Pet"),
    ]
    assert graph.revert(added.id, strategy="ours").commit is None
    graph.revert(added.id, strategy="theirs")
    assert "Pet" not in state_of(engine)
    assert people(engine)["bob"] == person("bob")


def test_a_picked_schema_change_brings_definitions_and_not_the_rows_around_it(
    engine: Engine, graph: EmbeddedGraph
) -> None:
    write(engine, {"Person": {"dev": person("dev")}}, branch="dev")
    more = SCHEMA.replace(NOTE, '    kind: String @default("x")\n')
    change = graph.apply_schema(more + "node Pet { name: String @key }\n", branch="dev").commit
    assert change is not None
    write(engine, {"Pet": {"rex": {"name": "rex"}}}, branch="dev")
    write(engine, {"Person": {"eve": person("eve")}})
    graph.cherry_pick(change.id)
    assert people(engine) == {name: person(name, kind="x") for name in ("ada", "bob", "cyd", "eve")}
    assert state_of(engine)["Pet"] == {}
    write(engine, {"Pet": {"tom": {"name": "tom"}}})
    graph.merge("dev")
    assert set(state_of(engine)["Pet"]) == {"rex", "tom"}
    assert set(people(engine)) == {"ada", "bob", "cyd", "dev", "eve"}
