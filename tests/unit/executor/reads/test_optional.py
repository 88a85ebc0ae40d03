"""Optional blocks: NULL where there is no match; the engine and the reference agree on each."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def world(worlds: Any) -> Any:
    people = worlds.entities(
        "handle",
        {"handle": "ada", "age": 30},
        {"handle": "bo", "age": 20},
        {"handle": "cy", "age": None},
    )
    cities = worlds.entities("name", {"name": "bonn", "people": 3})
    return worlds(
        Person=people,
        City=cities,
        Knows=worlds.edges("ada-bo", "ada-cy", since=[2001, None]),
        Lives=worlds.edges("bo-bonn"),
    )


def test_a_row_without_a_match_keeps_null(world: Any) -> None:
    query = """match { $p: Person  optional { $p knows $q  $q.age > 1 } }
        return { $p.handle as p, $q.handle as q, $q is null as none }"""
    assert world.rows(query) == [("ada", "bo", False), ("bo", None, True), ("cy", None, True)]


def test_whole_entities_edges_and_types_may_be_null(world: Any) -> None:
    query = """match { $p: Person  optional { $p $k:knows $q } }
        return { $p.handle as p, $q, $k.since as since, type($q) as kind, id($q) as id }"""
    rows = world.run(query).rows()
    assert [
        (row["p"], row["q"] and row["q"]["handle"], row["since"], row["kind"]) for row in rows
    ] == [
        ("ada", "bo", 2001, "Person"),
        ("ada", "cy", None, "Person"),
        ("bo", None, None, None),
        ("cy", None, None, None),
    ]


def test_optional_blocks_nest_and_see_those_before(world: Any) -> None:
    query = """match {
            $p: Person
            optional { $p knows $q  optional { $q lives $c } }
            optional { $q lives $d }
        }
        return { $p.handle as p, $q.handle as q, $c.name as c, $d.name as d }"""
    assert world.rows(query) == [
        ("ada", "bo", "bonn", "bonn"),
        ("ada", "cy", None, None),
        ("bo", None, None, None),
        ("cy", None, None, None),
    ]


def test_conditions_outside_filter_after_and_inside_before(world: Any) -> None:
    outside = """match { $p: Person  optional { $p knows $q }  $q.age > 1 }
        return { $p.handle as p, $q.handle as q }"""
    assert world.rows(outside) == [("ada", "bo")]
    missing = outside.replace("$q.age > 1", "$q is null")
    assert world.rows(missing) == [("bo", None), ("cy", None)]


def test_aggregates_skip_what_is_missing(world: Any) -> None:
    query = """match { $p: Person  optional { $p knows $q } }
        return { $p.handle as p, count($q) as n, count(*) as rows, collect($q.handle) as all }"""
    assert world.rows(query) == [
        ("ada", 2, 2, ["bo", "cy"]),
        ("bo", 0, 1, []),
        ("cy", 0, 1, []),
    ]
    assert world.rows(
        "match { $p: Person  optional { $p knows $q } } return { count($q) as n }"
    ) == [(2,)]


def test_null_groups_orders_and_is_distinct(world: Any) -> None:
    query = """match { $p: Person  optional { $p lives $c } }
        return { $c, count(*) as n } then return { $c.name as c, $n }"""
    assert world.rows(query) == [(None, 2), ("bonn", 1)]
    distinct = "match { $p: Person  optional { $p lives $c } } return distinct { $c }"
    assert [row["c"] and row["c"]["name"] for row in world.run(distinct).rows()] == [None, "bonn"]


def test_a_later_stage_follows_no_edge_of_null(world: Any) -> None:
    query = """match { $p: Person  optional { $p knows $q } } return { $p, $q }
        then match { $q lives $c } return { $p.handle as p, $c.name as c }"""
    assert world.rows(query) == [("ada", "bonn")]
    counted = """match { $p: Person  optional { $p knows $q } } return { $p, $q }
        then return { $p.handle as p, $q.handle as q, count { $q lives $c } as n }"""
    assert world.rows(counted) == [
        ("ada", "bo", 1),
        ("ada", "cy", 0),
        ("bo", None, 0),
        ("cy", None, 0),
    ]


def test_lists_and_uncorrelated_patterns_may_be_optional(world: Any) -> None:
    query = """match { $p: Person  optional { $p knows $q  unwind [1, $q.age] as $n } }
        return { $p.handle as p, $n as n }"""
    assert world.rows(query) == [
        ("ada", 1),
        ("ada", 20),
        ("ada", None),
        ("ada", 1),
        ("bo", None),
        ("cy", None),
    ]
    none = (
        'match { $p: Person { handle: "bo" }  optional { $c: City  $c.people > 9 } } return { $c }'
    )
    assert world.run(none).rows() == [{"c": None}]
