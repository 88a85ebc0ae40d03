"""Two schemas that came from one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from omnigraph.catalog.build import build_catalog
from omnigraph.catalog.merge import merge_catalogs
from omnigraph.catalog.merge_issues import IssueKind, SchemaIssue
from omnigraph.catalog.source import print_catalog
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source

if TYPE_CHECKING:
    from omnigraph.catalog.merge_issues import Preferences
    from omnigraph.catalog.model import Catalog, EdgeType, NodeType

BASE = """
node Person {
    name: String @key
    age: I32?
    mood: enum(bad, good)?
    mail: String?
    @unique(mail)
}

node Place { name: String @key }

edge Knows: Person -> Person @card(0..4) { since: I64? }
"""


def catalog(text: str, previous: Catalog | None = None) -> Catalog:
    source = Source(text, "s.pg")
    return build_catalog(parse_schema(source), source, previous=previous)


START = catalog(BASE)


def edited(*replacements: tuple[str, str]) -> Catalog:
    text = BASE
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    return catalog(text, START)


def merged(ours: Catalog, theirs: Catalog) -> Catalog:
    found, conflicts = merge_catalogs(START, ours, theirs, {})
    assert conflicts == []
    return found


def conflicts_of(
    ours: Catalog, theirs: Catalog, prefer: Preferences | None = None
) -> list[tuple[str, str, IssueKind]]:
    _, conflicts = merge_catalogs(START, ours, theirs, prefer or {})
    return [
        (conflict.entity.name, conflict.description, conflict.issue.decides)
        for conflict in conflicts
    ]


def test_the_same_schema_three_times_is_itself() -> None:
    assert merged(START, START) == START


@pytest.mark.parametrize(
    "change",
    [
        ("age: I32?", "age: I64?"),
        ("age: I32?", 'years: I32? @rename_from("age")'),
        ("age: I32?", ""),
        ("@card(0..4)", "@card(0..2)"),
        ("mail: String?", "mail: String? @index"),
        ("@unique(mail)", ""),
        ("node Place { name: String @key }", ""),
        ("node Place {", 'node Town @rename_from("Place") {'),
    ],
)
def test_what_one_side_changed_is_taken_in_both_directions(change: tuple[str, str]) -> None:
    other = edited(change)
    assert merged(other, START) == merged(START, other) == other
    assert merged(other, other) == other


def test_different_aspects_of_one_property_are_both_taken() -> None:
    found = merged(
        edited(("age: I32?", 'years: I32? @rename_from("age")')), edited(("age: I32?", "age: I64?"))
    )
    text = print_catalog(found)
    assert "years: I64?" in text
    assert "age" not in text


def test_taking_a_wider_type_back_leaves_it_wide() -> None:
    wide = edited(("age: I32?", "age: I64?"))
    changed = edited(("age: I32?", "age: I64?"), ("@unique(mail)", ""))
    # As when the commit that made it wider is reverted.
    for ours in (wide, changed):
        found, conflicts = merge_catalogs(wide, ours, START, {})
        assert conflicts == []
        assert "age: I64?" in print_catalog(found)


def test_sets_are_merged_member_by_member() -> None:
    found = merged(
        edited(("enum(bad, good)", "enum(bad, calm, good)"), ("@unique(mail)", "")),
        edited(
            ("enum(bad, good)", "enum(good, odd)"), ("@unique(mail)", "@unique(mail)\n@index(age)")
        ),
    )
    text = print_catalog(found)
    assert "enum(calm, good, odd)" in text
    assert "@unique" not in text
    assert "@index" in text


def test_a_rule_goes_with_its_property() -> None:
    found = merged(
        edited(("mail: String?\n    @unique(mail)", "")),
        edited(("@unique(mail)", "@unique(mail)\n    @unique(mail, age)")),
    )
    assert found.nodes[0].uniques == ()


@pytest.mark.parametrize(
    ("ours", "theirs", "about"),
    [
        (("age: I32?", "age: I64?"), ("age: I32?", "age: F64?"), "type of property age"),
        (
            ("age: I32?", 'a: I32? @rename_from("age")'),
            ("age: I32?", 'b: I32? @rename_from("age")'),
            "changed the name of property a differently: ours a, theirs b",
        ),
        (("age: I32?", ""), ("age: I32?", "age: I64?"), "one side dropped property age"),
        (
            ("@card(0..4)", "@card(0..2)"),
            ("@card(0..4)", "@card(0..3)"),
            "both sides changed its @card",
        ),
    ],
)
def test_different_changes_of_one_definition_are_a_conflict(
    ours: tuple[str, str], theirs: tuple[str, str], about: str
) -> None:
    one, other = edited(ours), edited(theirs)
    _, (conflict,) = merge_catalogs(START, one, other, {})
    assert about in conflict.description
    assert conflict.issue.decides is IssueKind.CONFLICT
    for theirs_wins, winner in ((False, one), (True, other)):
        chosen, conflicts = merge_catalogs(START, one, other, {conflict.issue: theirs_wins})
        assert conflicts == []
        assert definitions(chosen) == definitions(winner)


def definitions(found: Catalog) -> set[object]:
    """Everything but the order of properties."""
    return {
        (entity.name, frozenset(entity.properties), entity.uniques, getattr(entity, "card_high", 0))
        for entity in found.types.values()
    }


def type_named(found: Catalog, name: str) -> NodeType | EdgeType:
    entity = found.entity(name)
    assert entity is not None
    return entity


def test_of_two_properties_of_one_name_the_side_that_is_chosen_has_its_own() -> None:
    ours = edited(("mail: String?", "mail: String?\n    nick: String?"))
    theirs = edited(("age: I32?", 'nick: I32? @rename_from("age")'))
    _, (conflict,) = merge_catalogs(START, ours, theirs, {})
    assert conflict.description == "both sides added a property named nick"
    for prefers_theirs, names in (
        (False, {"name", "age", "mood", "mail", "nick"}),
        (True, {"name", "nick", "mood", "mail"}),
    ):
        chosen, conflicts = merge_catalogs(START, ours, theirs, {conflict.issue: prefers_theirs})
        assert conflicts == []
        assert set(chosen.nodes[0].by_name) == names


def test_of_two_types_of_one_name_the_side_that_is_chosen_has_its_own() -> None:
    ours = edited(("node Place {", "node Town { name: String @key }\nnode Place {"))
    theirs = edited(("node Place {", 'node Town @rename_from("Place") {'))
    place, town = type_named(START, "Place").id, type_named(ours, "Town").id
    assert {(name, decides) for name, _, decides in conflicts_of(ours, theirs)} == {
        ("Town", IssueKind.NAME)
    }
    for prefers_theirs, expected in (
        (False, {"Place": place, "Town": town}),
        (True, {"Town": place}),
    ):
        named = [SchemaIssue(IssueKind.NAME, each) for each in (place, town)]
        prefer = dict.fromkeys(named, prefers_theirs)
        chosen, conflicts = merge_catalogs(START, ours, theirs, prefer)
        assert conflicts == []
        found = {node.name: node.id for node in chosen.nodes}
        assert found == {"Person": START.nodes[0].id, **expected}


def test_two_properties_that_were_born_with_one_column_get_a_column_each() -> None:
    ours = edited(("age: I32?", 'years: I32? @rename_from("age")'))
    dropped = catalog(BASE.replace("age: I32?", ""), START)
    theirs = catalog(BASE, dropped)
    _, (conflict,) = merge_catalogs(START, ours, theirs, {})
    chosen, conflicts = merge_catalogs(START, ours, theirs, {conflict.issue: False})
    assert conflicts == []
    columns = {prop.name: prop.column for prop in chosen.nodes[0].properties}
    assert columns["years"] == "age"
    assert columns["age"].startswith("age__")


def test_the_same_thing_added_by_both_sides_is_one_thing() -> None:
    more = ("mail: String?", 'mail: String?\n    nick: String? @default("x")')
    pet = ("node Place {", "node Pet { name: String @key }\nnode Place {")
    owns = ("edge Knows", "edge Owns: Person -> Pet @card(0..3)\nedge Knows")
    one = edited(more, pet, owns)
    assert merged(one, edited(more, pet, owns)) == one
    richer = edited(
        more, ("node Place {", "node Pet { name: String @key  legs: I32? }\nnode Place {")
    )
    found = merged(one, richer)
    assert set(type_named(found, "Pet").by_name) == {"name", "legs"}
    assert type_named(found, "Owns") == type_named(one, "Owns")


def test_things_of_one_name_that_are_not_the_same_stay_two() -> None:
    assert conflicts_of(
        edited(("mail: String?", "mail: String?\n    nick: String?")),
        edited(("mail: String?", "mail: String?\n    nick: I32?")),
    ) == [
        ("Person", "both sides added a property named nick", IssueKind.CONFLICT),
    ]
    found = conflicts_of(
        edited(("node Place {", "node Pet { name: String @key }\nnode Place {")),
        edited(("node Place {", "node Pet { code: String @key }\nnode Place {")),
    )
    assert {(name, decides) for name, _, decides in found} == {("Pet", IssueKind.NAME)}


def test_what_both_sides_dropped_and_made_again_is_one_thing_and_not_the_old_one() -> None:
    again = catalog(BASE, catalog(BASE.replace("age: I32?", ""), START))
    twice = catalog(BASE, catalog(BASE.replace("age: I32?", ""), again))
    ids = [each.nodes[0].by_name["age"].id for each in (START, again, twice)]
    assert len(set(ids)) == 3
    assert merged(again, catalog(BASE, catalog(BASE.replace("age: I32?", ""), START))) == again


def test_an_edge_to_a_type_dropped_by_the_other_side_is_a_conflict() -> None:
    ours = edited(("edge Knows", "edge Visited: Person -> Place\nedge Knows"))
    theirs = edited(("node Place { name: String @key }", ""))
    ((name, about, decides),) = conflicts_of(ours, theirs)
    assert (name, decides) == ("Place", IssueKind.DROP)
    assert "Visited uses it" in about
    place, visited = type_named(START, "Place").id, type_named(ours, "Visited").id
    of_place, of_visited = (SchemaIssue(IssueKind.DROP, each) for each in (place, visited))
    kept, conflicts = merge_catalogs(START, ours, theirs, {of_place: False})
    assert conflicts == []
    assert kept == ours
    assert conflicts_of(ours, theirs, {of_place: True}) == [
        ("Visited", "its endpoint Place was dropped", IssueKind.DROP)
    ]
    gone, conflicts = merge_catalogs(START, ours, theirs, {of_place: True, of_visited: True})
    assert conflicts == []
    assert gone.types == theirs.types
    assert set(gone.retired) == {place, visited}


def test_interfaces_are_merged_property_by_property() -> None:
    text = "interface Named { label: String?  nick: String? }\n" + BASE.replace(
        "node Place {", "node Place implements Named {"
    )
    start = catalog(text)
    ours = catalog(text.replace("nick: String?", "nick: String?  more: I32?"), start)
    theirs = catalog(text.replace("label: String?", ""), start)
    found, conflicts = merge_catalogs(start, ours, theirs, {})
    assert conflicts == []
    assert [prop.name for prop in found.interfaces[0].properties] == ["nick", "more"]
    assert set(type_named(found, "Place").by_name) == {"name", "nick", "more"}


def test_a_choice_about_what_was_dropped_goes_first() -> None:
    dropped = edited(("age: I32?", ""))
    person = START.nodes[0]
    about_age = SchemaIssue(IssueKind.DROP, person.id, person.by_name["age"].id)
    kept, _ = merge_catalogs(START, START, dropped, {about_age: False})
    assert kept == START
    gone, _ = merge_catalogs(START, START, dropped, {about_age: True})
    assert gone == dropped


@pytest.mark.parametrize("drops", ["ours", "theirs"])
def test_a_property_that_is_kept_keeps_its_rules(drops: str) -> None:
    rules = 'code: String? @index @check("[a-z]+")\n    size: I32? @range(0..9)\n'
    start = catalog(BASE.replace("mail: String?\n", f"mail: String?\n    {rules}"))
    gone = BASE.replace("mail: String?\n", "").replace("@unique(mail)", "")
    person = start.node("Person")
    assert person is not None
    sides = (catalog(gone, start), start) if drops == "ours" else (start, catalog(gone, start))
    prefer = {
        SchemaIssue(IssueKind.DROP, person.id, person.by_name[name].id): drops == "ours"
        for name in ("mail", "code", "size")
    }
    found, conflicts = merge_catalogs(start, *sides, prefer)
    assert conflicts == []
    kept = found.node("Person")
    assert kept is not None
    assert set(kept.uniques) == set(person.uniques)
    assert set(kept.indexes) == set(person.indexes)
    assert (kept.ranges, kept.checks) == (person.ranges, person.checks)


def test_a_changed_range_of_a_dropped_property_goes_with_it() -> None:
    start = catalog(BASE.replace("age: I32?", "age: I32? @range(0..9)"))
    dropped = catalog(BASE.replace("age: I32?", ""), start)
    wider = catalog(BASE.replace("age: I32?", "age: I32? @range(0..99)"), start)
    found, conflicts = merge_catalogs(start, dropped, wider, {})
    assert conflicts == []
    assert found == dropped


def test_each_conflict_of_a_type_is_resolved_separately() -> None:
    ours = edited(
        ("age: I32?", 'a: I32? @rename_from("age")'), ("@unique(mail)", "@range(a, 0..9)")
    )
    theirs = edited(
        ("age: I32?", 'b: I32? @rename_from("age")'), ("@unique(mail)", "@range(b, 0..5)")
    )
    _, conflicts = merge_catalogs(START, ours, theirs, {})
    name, rule = (conflict.issue for conflict in conflicts)
    found, left = merge_catalogs(START, ours, theirs, {name: True, rule: False})
    assert left == []
    person = found.nodes[0]
    assert person.by_name["b"].id == START.nodes[0].by_name["age"].id
    assert [each.high for each in person.ranges] == [9]
