"""What a pattern matches, one statement of the language at a time."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

PAIRS = "return { $a.handle as a, $b.handle as b }"


def test_a_binding_is_every_entity_of_its_type_and_inline_properties_filter_it(worlds: Any) -> None:
    world = worlds.people("ada", "bo", City=worlds.entities("name", {"name": "ada"}))
    assert world.column("match { $p: Person } return { $p.handle }") == ["ada", "bo"]
    assert world.column('match { $p: Person { handle: "bo" } } return { $p.handle }') == ["bo"]


def test_bindings_without_a_connection_form_every_combination(worlds: Any) -> None:
    world = worlds.people("ada", "bo")
    assert len(world.rows(f"match {{ $a: Person  $b: Person }} {PAIRS}")) == 4


def test_parallel_edges_give_one_row_and_a_bound_edge_one_row_each(worlds: Any) -> None:
    knows = worlds.edges("ada-bo", "ada-bo", "bo-ada", since=[2001, 2002, 2003])
    world = worlds.people("ada", "bo", Knows=knows)
    assert world.rows(f"match {{ $a knows $b }} {PAIRS}") == [("ada", "bo"), ("bo", "ada")]
    assert world.rows("match { $a $k:knows $b } return { $a.handle as a, $k.since as s }") == [
        ("ada", 2001),
        ("ada", 2002),
        ("bo", 2003),
    ]


def test_edge_properties_filter_bound_edges(worlds: Any) -> None:
    knows = worlds.edges("ada-bo", "ada-bo", "bo-ada", since=[2001, 2002, None])
    world = worlds.people("ada", "bo", Knows=knows)
    query = "match { $a $k:knows $b  $k.since > 2001 } return { $k.since as s }"
    assert world.column(query) == [2002]


def test_an_undirected_hop_follows_edges_both_ways_and_gives_each_pair_once(worlds: Any) -> None:
    world = worlds.people("ada", "bo", "cy", Knows=worlds.edges("ada-bo", "bo-ada", "cy-cy"))
    assert world.rows(f"match {{ $a <knows> $b }} {PAIRS}") == [
        ("ada", "bo"),
        ("bo", "ada"),
        ("cy", "cy"),
    ]


def test_an_undirected_bound_edge_is_seen_from_both_ends_and_a_loop_once(worlds: Any) -> None:
    world = worlds.people("ada", "bo", Knows=worlds.edges("ada-bo", "bo-bo", since=[1, 2]))
    query = "match { $a $k:<knows> $b } return { $a.handle as a, $b.handle as b, $k.since as s }"
    assert world.rows(query) == [("ada", "bo", 1), ("bo", "ada", 1), ("bo", "bo", 2)]


@pytest.mark.parametrize(
    ("bounds", "reached"),
    [("{1,2}", ["bo", "cy"]), ("{2,3}", ["cy", "dee"]), ("{3,3}", ["dee"]), ("{4,9}", [])],
)
def test_bounded_hops_count_shortest_depths(worlds: Any, bounds: str, reached: list[str]) -> None:
    chain = worlds.edges("ada-bo", "bo-cy", "cy-dee", "cy-ada")
    world = worlds.people("ada", "bo", "cy", "dee", Knows=chain)
    query = (
        f'match {{ $a: Person {{ handle: "ada" }}  $a knows{bounds} $b }} return {{ $b.handle }}'
    )
    assert world.column(query) == reached


def test_bounded_hops_find_their_sources_from_a_known_target(worlds: Any) -> None:
    knows = worlds.edges("ada-bo", "bo-cy", "cy-dee", "dee-dee")
    world = worlds.people("ada", "bo", "cy", "dee", Knows=knows)
    query = 'match { $b: Person { handle: "dee" }  $a knows{2,2} $b } return { $a.handle }'
    assert world.column(query) == ["bo", "cy"]


def test_a_loop_is_reported_one_step_deeper(worlds: Any) -> None:
    world = worlds.people("ada", "bo", Knows=worlds.edges("ada-bo", "bo-bo"))
    assert world.rows(f"match {{ $a knows{{2,2}} $b }} {PAIRS}") == [("ada", "bo")]
    assert world.rows(f"match {{ $a knows{{1,1}} $b }} {PAIRS}") == [("ada", "bo"), ("bo", "bo")]


def test_bounded_undirected_hops_walk_back_and_forth(worlds: Any) -> None:
    world = worlds.people("ada", "bo", "cy", Knows=worlds.edges("ada-bo", "cy-bo"))
    assert world.rows(f"match {{ $a <knows>{{2,2}} $b }} {PAIRS}") == [("ada", "cy"), ("cy", "ada")]


def test_a_variable_on_both_ends_finds_loops(worlds: Any) -> None:
    world = worlds.people("ada", "bo", Knows=worlds.edges("ada-bo", "bo-bo"))
    assert world.column("match { $a knows $a } return { $a.handle }") == ["bo"]


def test_hops_that_share_variables_are_joined(worlds: Any) -> None:
    triangle = worlds.edges("ada-bo", "bo-cy", "cy-ada", "ada-cy")
    world = worlds.people("ada", "bo", "cy", Knows=triangle)
    query = "match { $a knows $b  $b knows $c  $c knows $a } return { $a.handle as a }"
    assert world.column(query) == ["ada", "bo", "cy"]


def test_ids_are_per_type(worlds: Any) -> None:
    world = worlds.people(
        "ada",
        "bo",
        City=worlds.entities("name", {"name": "ada"}, {"name": "bo"}),
        Lives=worlds.edges("ada-bo"),
        Knows=worlds.edges("bo-ada"),
    )
    query = "match { $p lives $c } return { $p.handle as p, $c.name as c }"
    assert world.rows(query) == [("ada", "bo")]
    far = "match { $p lives{1,3} $c } return { $p.handle as p, $c.name as c }"
    assert world.rows(far) == [("ada", "bo")]


def test_anonymous_variables_match_anything_each_for_itself(worlds: Any) -> None:
    world = worlds.people("ada", "bo", "cy", Knows=worlds.edges("ada-bo", "bo-cy"))
    query = "match { $a knows $_  $_ knows $a } return { $a.handle }"
    assert world.column(query) == ["bo"]


def test_filters_are_joined_by_and_and_unknown_is_not_true(worlds: Any) -> None:
    people = worlds.entities(
        "handle",
        {"handle": "ada", "age": 36},
        {"handle": "bo", "age": None},
        {"handle": "cy", "age": 7},
    )
    world = worlds(Person=people)

    def found(condition: str) -> list[str]:
        handles = world.column(f"match {{ $p: Person  {condition} }} return {{ $p.handle }}")
        return list(handles)

    assert found("$p.age > 10") == ["ada"]
    assert found("not ($p.age > 10)") == ["cy"]
    assert found("$p.age > 10 or $p.age is null") == ["ada", "bo"]
    assert found("$p.age = $p.age") == ["ada", "cy"]
    assert found("$p.age > 5 and $p.age < 10") == ["cy"]
    assert found("$p.age in [7, 8]") == ["cy"]
    assert found("not ($p.age in [7, 8])") == ["ada"]


def test_dates_instants_enums_lists_and_floats_are_compared_as_such(worlds: Any) -> None:
    people = [
        {
            "id": "ada",
            "handle": "ada",
            "height": 1.7,
            "born": dt.date(1990, 5, 1),
            "seen": dt.datetime(2026, 10, 31, tzinfo=dt.UTC),
            "status": "active",
            "tags": ["math", "tea"],
        },
        {"id": "bo", "handle": "bo"},
    ]
    world = worlds(Person=people)

    def finds(condition: str) -> bool:
        handles = world.column(f"match {{ $p: Person  {condition} }} return {{ $p.handle }}")
        assert handles in ([], ["ada"])
        return bool(handles)

    assert finds('$p.born < date("1990-05-02")')
    assert not finds('$p.born < date("1990-05-01")')
    assert finds("$p.seen < now()")
    assert finds('$p.status = "active"')
    assert finds('$p.status != "retired"')
    assert finds('$p.tags contains "tea"')
    assert not finds('$p.tags contains "te"')
    assert finds('$p.handle contains "d"')
    assert finds('$p.handle starts_with "ad"')
    assert finds("$p.height = 1.7")
    assert finds("$p.height > 1.6")


def test_exists_and_not_look_at_the_graph_once_per_row(worlds: Any) -> None:
    world = worlds.people("ada", "bo", "cy", Knows=worlds.edges("ada-bo", "ada-cy", "cy-cy"))
    exists = "match { $a: Person  exists { $a knows $b } } return { $a.handle }"
    lonely = "match { $a: Person  not { $a knows $b } } return { $a.handle }"
    assert world.column(exists) == ["ada", "cy"]
    assert world.column(lonely) == ["bo"]


def test_a_block_may_relate_two_outer_variables_without_any_of_its_own(worlds: Any) -> None:
    world = worlds.people("ada", "bo", Knows=worlds.edges("ada-bo"))
    query = f"match {{ $a: Person  $b: Person  not {{ $a knows $b }} }} {PAIRS}"
    assert world.rows(query) == [("ada", "ada"), ("bo", "ada"), ("bo", "bo")]


def test_blocks_nest_and_see_all_variables_around_them(worlds: Any) -> None:
    # Everybody whom ada knows also knows ada, and cy knows nobody.
    knows = worlds.edges("ada-bo", "bo-ada", "bo-cy")
    world = worlds.people("ada", "bo", "cy", Knows=knows)
    query = "match { $a: Person  not { $a knows $b  not { $b knows $a } } } return { $a.handle }"
    assert world.column(query) == ["ada", "cy"]


def test_count_blocks_count_rows_and_zero_counts(worlds: Any) -> None:
    world = worlds.people("ada", "bo", "cy", Knows=worlds.edges("ada-bo", "ada-cy", "bo-cy"))

    def having(condition: str) -> list[str]:
        handles = world.column(f"match {{ $a: Person  {condition} }} return {{ $a.handle }}")
        return list(handles)

    assert having("count { $a knows $b } >= 2") == ["ada"]
    assert having("count { $a knows $b } = 0") == ["cy"]
    assert having("count { $a knows $b } < 2") == ["bo", "cy"]


def test_folds_over_a_block_are_null_where_it_is_empty(worlds: Any) -> None:
    people = worlds.entities(
        "handle", {"handle": "ada"}, {"handle": "bo", "age": 10}, {"handle": "cy", "age": 30}
    )
    world = worlds(Person=people, Knows=worlds.edges("ada-bo", "ada-cy", "bo-cy"))

    def having(condition: str) -> list[str]:
        handles = world.column(f"match {{ $a: Person  {condition} }} return {{ $a.handle }}")
        return list(handles)

    assert having("sum { $a knows $b  return $b.age } = 40") == ["ada"]
    assert having("avg { $a knows $b  return $b.age } = 20") == ["ada"]
    assert having("min { $a knows $b  return $b.age } > 10") == ["bo"]
    assert having("max { $a knows $b  return $b.age } is null") == ["cy"]
