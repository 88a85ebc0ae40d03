"""Two schemas that came from one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from omnigraph.catalog.build import build_catalog
from omnigraph.catalog.merge import Preferences, merge_catalogs
from omnigraph.catalog.source import print_catalog
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog

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
    found, clashes = merge_catalogs(START, ours, theirs, Preferences())
    assert clashes == []
    return found


def told(ours: Catalog, theirs: Catalog) -> list[tuple[str, tuple[str, ...], bool]]:
    _, clashes = merge_catalogs(START, ours, theirs, Preferences())
    return [(clash.entity.name, clash.about, clash.choosable) for clash in clashes]


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
            "name of property a",
        ),
        (("age: I32?", ""), ("age: I32?", "age: I64?"), "property age"),
        (("@card(0..4)", "@card(0..2)"), ("@card(0..4)", "@card(0..3)"), "@card"),
    ],
)
def test_one_thing_changed_in_two_ways_is_a_clash(
    ours: tuple[str, str], theirs: tuple[str, str], about: str
) -> None:
    one, other = edited(ours), edited(theirs)
    ((name, found, choosable),) = told(one, other)
    assert (found, choosable) == ((about,), True)
    type_id = next(t.id for t in START.types.values() if t.name == name)
    for theirs_wins, winner in ((False, one), (True, other)):
        chosen, clashes = merge_catalogs(
            START, one, other, Preferences(clashes={type_id: theirs_wins})
        )
        assert clashes == []
        assert definitions(chosen) == definitions(winner)


def definitions(found: Catalog) -> set[object]:
    """Everything but the order of properties."""
    return {
        (entity.name, frozenset(entity.properties), entity.uniques, getattr(entity, "card_high", 0))
        for entity in found.types.values()
    }


def test_two_things_of_one_name_cannot_be_chosen_between() -> None:
    more = ("mail: String?", "mail: String?\n    nick: String?")
    assert told(edited(more), edited(more)) == [
        ("Person", ("name nick of two properties", "column nick of two properties"), False)
    ]
    pet = ("node Place {", "node Pet { name: String @key }\nnode Place {")
    assert {(name, choosable) for name, _, choosable in told(edited(pet), edited(pet))} == {
        ("Pet", False)
    }


def test_an_edge_to_a_type_that_the_other_side_dropped_is_told() -> None:
    visited = ("edge Knows", "edge Visited: Person -> Place\nedge Knows")
    dropped = ("node Place { name: String @key }", "")
    ((_, about, choosable),) = told(edited(visited), edited(dropped))
    assert not choosable
    assert "as a whole" in about[0]


def test_a_choice_about_what_was_dropped_goes_first() -> None:
    dropped = edited(("age: I32?", ""))
    person = START.nodes[0].id
    kept, _ = merge_catalogs(START, START, dropped, Preferences(drops={person: False}))
    assert kept == START
    gone, _ = merge_catalogs(START, START, dropped, Preferences(drops={person: True}))
    assert gone == dropped
