"""From text to catalog: expansion and resolution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from omnigraph.catalog.build import build_catalog
from omnigraph.catalog.model import Check, Range
from omnigraph.errors import SchemaFailure
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.catalog.model import Catalog

    Build = Callable[..., Catalog]


def test_lookups_find_types_by_name_and_edges_without_regard_to_case(build: Build) -> None:
    catalog = build("node Person {}\nedge WorksAt: Person -> Person")
    person, works = catalog.nodes[0], catalog.edges[0]
    assert catalog.node("Person") is person
    assert catalog.node("person") is None
    assert catalog.edge("worksat") is catalog.edge("WORKSAT") is works
    assert catalog.entity("Person") is person
    assert catalog.entity("worksAt") is works
    assert catalog.entity("nothing") is None
    assert catalog.node_by_id(person.id) is person
    assert catalog.edge_by_id(works.id) is works
    assert catalog.incident_edges(person.id) == (works,)
    assert (works.source, works.target) == (person.id, person.id)


def test_queries_may_name_properties_ids_and_ends(build: Build) -> None:
    catalog = build("node Person { name: String }\nedge Knows: Person -> Person { since: Date }")
    person, knows = catalog.nodes[0], catalog.edges[0]
    assert person.find("name") is person.properties[0]
    assert person.find("src") is None
    assert {
        name: getattr(knows.find(name), "id", None) for name in ("id", "src", "to", "from")
    } == {
        "id": "@id",
        "src": "@src",
        "to": "@dst",
        "from": "@src",
    }
    assert knows.find("since") is knows.by_name["since"]
    assert knows.find("nothing") is None


def test_interfaces_are_expanded_into_nodes(build: Build) -> None:
    catalog = build(
        """
        interface Named { name: String @key @description("the name") nick: String? @unique }
        interface Dated { at: DateTime @index }
        node Person implements Dated, Named { age: I32 @range(0..9) name: String @note }
        """
    )
    [person] = catalog.nodes
    names = {prop.id: prop.name for prop in person.properties}
    assert list(names.values()) == ["at", "name", "nick", "age"]
    assert person.interfaces == ("Dated", "Named")
    assert [names[member] for member in person.key or ()] == ["name"]
    assert [[names[member] for member in members] for members in person.uniques] == [["nick"]]
    assert [[names[member] for member in members] for members in person.indexes] == [["at"]]
    redeclared = person.by_name["name"].annotations
    assert [name for name, _, _ in redeclared.items] == ["description", "note"]


def test_a_redeclared_property_may_replace_annotations(build: Build) -> None:
    catalog = build(
        """
        interface Named { name: String @description("a") @tag(1) @tag(2) }
        node Person implements Named { name: String @description("b") }
        """
    )
    items = catalog.nodes[0].properties[0].annotations.items
    assert items == (("tag", (1,), ()), ("tag", (2,), ()), ("description", ("b",), ()))


def test_the_order_of_constraints_means_nothing(build: Build) -> None:
    first = build("node T { a: I32 @index b: I32 @index @range(0..1) @unique(b, a) @unique(a) }")
    second = build(
        "node T { a: I32 b: I32 @unique(a) @range(b, 0..1) @unique(b, a) @index(b) @index(a) }"
    )

    def spelled(catalog: Catalog) -> object:
        [node] = catalog.nodes
        names = {prop.id: prop.name for prop in node.properties}
        return (
            [[names[each] for each in members] for members in (*node.uniques, *node.indexes)],
            [(names[each.prop], each.low, each.high) for each in node.ranges],
        )

    assert spelled(first) == spelled(second)
    assert spelled(first) == ([["a"], ["b", "a"], ["a"], ["b"]], [("b", 0, 1)])


def test_bounds_are_numbers_of_the_type_of_their_property(build: Build) -> None:
    [node] = build("node T { a: F64 @range(0..1) b: I32 @range(0..1) c: F32 @range(..2) }").nodes
    a, b, c = (prop.id for prop in node.properties)
    assert node.ranges == (Range(a, 0.0, 1.0), Range(b, 0, 1), Range(c, None, 2.0))
    assert [type(each.high) for each in node.ranges] == [float, int, float]


def test_several_checks_of_one_property_are_kept_in_order(build: Build) -> None:
    [node] = build('node T { a: String @check("z+") @check("a+") }').nodes
    assert node.checks == (Check(node.properties[0].id, "z+"), Check(node.properties[0].id, "a+"))


def test_an_edge_key_may_name_its_ends_either_way(build: Build) -> None:
    [edge] = build("node A {}\nedge E: A -> A { w: I32 @key(from, to, w) @unique(dst) }").edges
    assert edge.key == ("@src", "@dst", edge.properties[0].id)
    assert edge.uniques == (("@dst",),)
    assert edge.by_id[edge.key[0]].name == "src"


def test_cardinality_defaults_to_any_number(build: Build) -> None:
    catalog = build("node A {}\nedge E: A -> A\nedge F: A -> A @card(1..3)")
    assert [(edge.card_low, edge.card_high) for edge in catalog.edges] == [(0, None), (1, 3)]


def test_annotations_are_kept_with_their_values(build: Build) -> None:
    [node] = build(
        'node T @description("d") { t: String v: Vector(2) @embed("t", model="m") '
        "n: I32 @default(5) }"
    ).nodes
    text, vector, number = node.properties
    assert node.annotations.get("description") == ("d",)
    assert node.annotations.get("instruction") is None
    assert vector.annotations.get("embed") == ("t",)
    assert vector.annotations.keyword("embed", "model") == "m"
    assert vector.annotations.keyword("embed", "other") is None
    assert vector.annotations.keyword("other", "model") is None
    assert (number.default, text.default) == (5, None)


@pytest.mark.parametrize("default", ["9007199254740993", '"9007199254740993"'])
def test_a_default_may_be_a_number_or_its_text(build: Build, default: str) -> None:
    [node] = build(f"node T {{ n: I64 @default({default}) }}").nodes
    assert str(node.properties[0].default) == "9007199254740993"


def test_a_default_need_not_pass_rules_that_are_wrong_themselves(build: Build) -> None:
    text = 'node T { a: I32 @check("a") @default(3) }'
    with pytest.raises(SchemaFailure, match="S315") as caught:
        build(text)
    assert "S407" not in str(caught.value)


def test_a_default_that_does_not_fit_is_not_measured_against_rules(build: Build) -> None:
    with pytest.raises(SchemaFailure) as caught:
        build('node T { a: I32 @range(5..) @default("x") }')
    assert [found["code"] for found in caught.value.details["diagnostics"]] == ["S406"]


def test_identities_are_minted_by_the_runtime_unless_told_otherwise() -> None:
    source = Source("node T { a: I32 }")
    [node] = build_catalog(parse_schema(source), source).nodes
    assert len(node.id) == len(node.properties[0].id) == 10
    assert str(node.id) != str(node.properties[0].id)
