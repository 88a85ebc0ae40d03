"""Stages, unions, unwound lists and subqueries; the engine and the reference agree on each."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from omnigraph.errors import LimitExceeded
from omnigraph.executor.execute import Call, Executable, execute
from omnigraph.runtime.budget import Budget
from omnigraph.testing.agreement import Question
from omnigraph.testing.memory_tables import MemorySource

NOW = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)


@pytest.fixture
def world(worlds: Any) -> Any:
    people = worlds.entities(
        "handle",
        {"handle": "ada", "age": 30, "tags": ["x", "y", "x"]},
        {"handle": "bo", "age": 20, "tags": ["y"]},
        {"handle": "cy", "age": 20, "tags": None},
        {"handle": "di", "age": None, "tags": []},
    )
    return worlds(Person=people, Knows=worlds.edges("ada-bo", "ada-cy", "bo-cy", "cy-ada"))


def test_a_stage_goes_on_from_the_rows_of_the_one_before(world: Any) -> None:
    query = """match { $p knows $q }
        return { $p, count($q) as n } having n > 1
        then match { $p knows $q } return { $p.handle as p, $q.handle as q, $n as n }"""
    assert world.rows(query) == [("ada", "bo", 2), ("ada", "cy", 2)]


def test_the_limit_of_a_stage_follows_its_order(world: Any) -> None:
    query = """match { $p: Person } return { $p } order { $p.age desc, $p.handle desc }
        limit 2 offset 1 then return { $p.handle as p }"""
    assert world.column(query) == ["bo", "cy"]
    assert world.column(query.replace("limit 2", "limit $n"), "$n: I64", n=1) == ["cy"]
    negative = world.compile(query.replace("limit 2", "limit $n"), "$n: I64")
    asked = Question(negative, world.catalog, world.tables(), {"n": -1}, NOW)
    assert asked.require_agreement() == ("failed", "query.negative_limit")


def test_rows_of_a_stage_repeat_unless_they_are_distinct(world: Any) -> None:
    stage = "match { $p: Person  $p.age = 20 } return { $p.age as age }"
    assert world.column(f"{stage} then return {{ $age }}") == [20, 20]
    assert world.column(f"{stage} then return {{ count(*) as n }}") == [2]
    assert world.column(f"{stage} then return {{ count(distinct $age) as n }}") == [1]
    once = stage.replace("return", "return distinct")
    assert world.column(f"{once} then return {{ count(*) as n }}") == [1]


def test_values_of_a_stage_join_with_properties(world: Any) -> None:
    query = """match { $p: Person { handle: "bo" } } return { $p.age as age }
        then match { $q: Person { age: $age } } return { $q.handle as q }"""
    assert world.column(query) == ["bo", "cy"]
    missing = query.replace('"bo"', '"di"')
    assert world.column(missing) == []


def test_values_order_with_null_first_and_break_ties(world: Any) -> None:
    query = "match { $p: Person } return { $p.age as age } then return { $age }"
    assert world.column(query) == [None, 20, 20, 30]


def test_a_list_becomes_rows_as_often_as_it_has_items(world: Any) -> None:
    query = "match { $p: Person  unwind $p.tags as $t } return { $p.handle as p, $t as t }"
    assert world.rows(query) == [("ada", "x"), ("ada", "x"), ("ada", "y"), ("bo", "y")]
    counted = "match { $p: Person  unwind $p.tags as $t } return { $t as t, count(*) as n }"
    assert world.rows(counted) == [("x", 2), ("y", 2)]


def test_lists_of_parameters_join_with_patterns(world: Any) -> None:
    query = """match { $p: Person  unwind $names as $n  $p.handle = $n  unwind range(1, 2) as $i }
        return { $p.handle as p, $i as i }"""
    rows = world.rows(query, "$names: [String]", names=["bo", "zz", "ada"])
    assert rows == [("ada", 1), ("ada", 2), ("bo", 1), ("bo", 2)]


def test_unions_drop_equal_rows_or_keep_them(world: Any) -> None:
    part = "match { $p: Person  $p.age = 20 } return { $p.age as x }"
    other = "match { $p: Person } return { $p.age as x } order { $p.handle } limit 2"
    assert world.column(f"{part} union {other}") == [20, 30]
    assert world.column(f"{part} union all {other}") == [20, 20, 20, 30]


def test_unions_of_entities_show_them_whole(world: Any) -> None:
    part = 'match { $p: Person { handle: "bo" } } return { $p }'
    (row,) = world.run(f"{part} union {part}").rows()
    assert row["p"]["handle"] == "bo"


def test_subqueries_are_columns_and_may_be_uncorrelated(world: Any) -> None:
    query = """match { $p: Person } return {
        $p.handle as p,
        count { $p knows $q } as known,
        exists { $q knows $p } as by,
        max { $p knows $q  return $q.age } as oldest,
        count { $any: Person } as of
    }"""
    assert world.rows(query) == [
        ("ada", 2, True, 20, 4),
        ("bo", 1, True, 20, 4),
        ("cy", 1, True, 30, 4),
        ("di", 0, False, None, 4),
    ]


def test_a_star_returns_every_variable_in_the_order_of_the_text(world: Any) -> None:
    query = 'match { $p: Person { handle: "bo" }  $p $k:knows $q } return { * }'
    (row,) = world.run(query).rows()
    assert list(row) == ["p", "k", "q"]
    staged = query + " then return { *, $q.handle as name }"
    (row,) = world.run(staged).rows()
    assert list(row) == ["p", "k", "q", "name"]


def test_a_chain_is_a_traversal_for_each_edge(world: Any) -> None:
    query = "match { $a knows $b knows $c $k:knows $a } return { $a.handle as a, $c.handle as c }"
    assert world.rows(query) == [("ada", "cy"), ("bo", "ada"), ("cy", "bo")]
    bounded = "match { $a knows $b knows{1,2} $c  not { $a knows $c } } return { $c.handle }"
    assert world.rows(bounded) == world.rows(
        "match { $a knows $b  $b knows{1,2} $c  not { $a knows $c } } return { $c.handle }"
    )


def test_groups_are_filtered_by_aggregates_that_are_not_returned(world: Any) -> None:
    query = "match { $p: Person } return { $p.age as age } having count(*) > 1 or max($p.age) > 25"
    assert world.column(query) == [20, 30]


def test_the_product_of_lists_stays_within_the_budget(world: Any) -> None:
    lists = "  ".join(f"unwind range(1, 1000) as $i{n}" for n in range(6))
    ir = world.compile(f"match {{ $p: Person  {lists} }} return {{ count(*) as n }}")
    plan = Question(ir, world.catalog, world.tables(), {}, NOW).plan()
    budget = Budget(memory_bytes=2**26, seconds=10)
    executable = Executable(plan, world.catalog)
    call = Call({}, NOW, budget=budget)
    with pytest.raises(LimitExceeded):
        execute(executable, MemorySource(world.tables()), call)
