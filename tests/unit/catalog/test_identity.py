"""Identities survive renames and nothing else does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from omnigraph.errors import SchemaFailure

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.catalog.model import Catalog

    Build = Callable[..., Catalog]


def columns(catalog: Catalog) -> dict[str, str]:
    return {prop.name: prop.column for prop in catalog.nodes[0].properties}


def test_the_same_names_keep_their_identities(build: Build) -> None:
    text = "node A { x: I32 }\nedge E: A -> A { w: I32 }"
    first = build(text)
    assert build(text, first) == first
    assert build(text) != first


def test_a_renamed_type_keeps_its_identity(build: Build) -> None:
    first = build("node Person { name: String }\nedge Knows: Person -> Person")
    second = build(
        'node Human @rename_from("Person") { name: String }\n'
        'edge Likes: Human -> Human @rename_from("knows")',
        first,
    )
    assert second.nodes[0].id == first.nodes[0].id
    assert second.nodes[0].properties == first.nodes[0].properties
    assert second.edges[0].id == first.edges[0].id


def test_a_renamed_property_keeps_its_identity_and_its_column(build: Build) -> None:
    first = build("node A { x: I32 }")
    second = build('node A { y: I32 @rename_from("x") }', first)
    [before], [after] = first.nodes[0].properties, second.nodes[0].properties
    assert (after.id, after.column, after.name) == (before.id, "x", "y")


def test_the_annotation_is_not_part_of_the_catalog(build: Build) -> None:
    first = build("node A { x: I32 }")
    renamed = build('node B @rename_from("A") { y: I32 @rename_from("x") }', first)
    assert renamed == build("node B { y: I32 }", renamed)


def test_a_rename_that_happened_already_says_nothing(build: Build) -> None:
    text = 'node B @rename_from("A") { y: I32 @rename_from("x") }'
    first = build("node A { x: I32 }")
    second = build(text, first)
    assert build(text, second) == second


@pytest.mark.parametrize(
    ("accepted", "desired"),
    [
        ("node A {}\nnode B {}", 'node B @rename_from("A") {}'),
        ("node A { x: I32? y: I32? }", 'node A { y: I32? @rename_from("x") }'),
    ],
)
def test_a_rename_onto_what_exists_is_refused(build: Build, accepted: str, desired: str) -> None:
    """It would drop one of two things without a word."""
    with pytest.raises(SchemaFailure) as caught:
        build(desired, build(accepted))
    assert caught.value.code == "S503"


def test_a_rename_of_what_never_was_makes_something_new(build: Build) -> None:
    first = build("node A {}")
    second = build('node A {}\nnode B @rename_from("C") {}', first)
    assert second.nodes[1].id not in first.types


@pytest.mark.parametrize(
    ("accepted", "desired", "remedy"),
    [
        ("node City {}", 'node Town @rename_from("Cty") {}', "did you mean `City`?"),
        ("node A { x: I32? }", 'node B @rename_from("A") { y: I32? @rename_from("z") }', "remove"),
        (
            "node A {}\nedge WorksAt: A -> A",
            'node A {}\nedge EmployedBy: A -> A @rename_from("WorkAt")',
            "did you mean `worksat`?",
        ),
    ],
)
def test_a_misspelt_rename_does_not_drop_what_it_means(
    build: Build, accepted: str, desired: str, remedy: str
) -> None:
    with pytest.raises(SchemaFailure) as caught:
        build(desired, build(accepted))
    assert caught.value.code == "S504"
    assert remedy in str(caught.value)


def test_a_rename_onto_itself_says_nothing(build: Build) -> None:
    first = build("node A { x: I32 }")
    assert build('node A @rename_from("A") { x: I32 @rename_from("x") }', first) == first


def test_nodes_and_edges_are_never_the_same_thing(build: Build) -> None:
    first = build("node A {}\nnode B {}")
    second = build('node A {}\nedge B: A -> A\nedge C: A -> A @rename_from("A2")', first)
    assert not {edge.id for edge in second.edges} & set(first.types)


def test_an_edge_that_changes_its_case_is_the_same_edge(build: Build) -> None:
    first = build("node A {}\nedge WorksAt: A -> A")
    second = build("node A {}\nedge WORKSAT: A -> A", first)
    assert second.edges[0].id == first.edges[0].id


def test_what_was_dropped_and_comes_back_is_new(build: Build) -> None:
    first = build("node A { x: I32 y: I32 }\nnode B {}")
    second = build("node A { y: I32 }", first)
    third = build("node A { x: I32 y: I32 }\nnode B {}", second)
    assert third.nodes[1].id != first.nodes[1].id
    assert third.nodes[0].by_name["x"].id != first.nodes[0].by_name["x"].id
    assert third.nodes[0].by_name["y"].id == first.nodes[0].by_name["y"].id


def test_a_new_property_never_gets_a_column_that_held_another(build: Build) -> None:
    first = build("node A { name: String }")
    second = build('node A { title: String @rename_from("name") }', first)
    third = build("node A { title: String name: I32 }", second)
    fresh = third.nodes[0].by_name["name"]
    assert columns(third) == {"title": "name", "name": f"name__{fresh.id}"}
    fourth = build("node A { name: I32 title: String }", third)
    assert columns(fourth) == columns(third)


def test_a_column_is_not_taken_over_from_what_is_dropped_in_the_same_step(build: Build) -> None:
    first = build("node A { name: String }")
    second = build('node A { title: String @rename_from("name") }', first)
    third = build("node A { name: I32 }", second)
    [fresh] = third.nodes[0].properties
    assert fresh.column == f"name__{fresh.id}"


def test_inherited_properties_are_renamed_in_every_node(build: Build) -> None:
    first = build("interface N { x: I32 }\nnode A implements N {}\nnode B implements N {}")
    second = build(
        'interface N { y: I32 @rename_from("x") }\nnode A implements N {}\nnode B implements N {}',
        first,
    )
    for before, after in zip(first.nodes, second.nodes, strict=True):
        assert after.properties[0].id == before.properties[0].id
