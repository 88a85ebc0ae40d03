"""Functions and operators by example; every query is evaluated by the engine and the reference."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from omnigraph.errors import GraphError

INSTANT = dt.datetime(2026, 2, 28, 23, 59, 59, 500_000, tzinfo=dt.UTC)

VALUES = [
    # numbers
    ("$p.age + 1 * 2", 32),
    ("($p.age + 1) * 2", 62),
    ("-$p.age - -1", -29),
    ("7 / 2", 3.5),
    ("div(-7, 2)", -3),
    ("-7 % 3", -1),
    ("7 % 0", None),
    ("1 / 0", None),
    ("round(2.5)", 3.0),
    ("round(-2.5)", -3.0),
    ("round(1234, -2)", 1200),
    ("round(1.005, 2)", 1.0),
    ("floor(-1.5)", -2.0),
    ("ceil(-1.5)", -1.0),
    ("abs(-3)", 3),
    ("sign(-0.5)", -1),
    ("sqrt(-1.0)", None),
    ("sqrt(9)", 3.0),
    ("power(2, 10)", 1024.0),
    ("ln(0)", None),
    ("least(3, $p.nothing, 2)", 2),
    ("greatest(3, 2.5)", 3.0),
    ("$p.nothing + 1", None),
    # texts
    ('"a" || "b" || $p.handle', "abada"),
    ('upper("straße")', "STRASSE"),
    ('lower("ÄB")', "äb"),
    ('trim("  a ")', "a"),
    ('substring("graph", 1, 3)', "rap"),
    ('substring("graph", -2)', "ph"),
    ('left("graph", 2) || right("graph", 2)', "grph"),
    ('replace("banana", "an", "o")', "booa"),
    ('replace("banana", "", "o")', "banana"),
    ('split("a,b,,c", ",")', ["a", "b", "", "c"]),
    ('split("ab", "")', ["a", "b"]),
    ('join(["a", "b"], "-")', "a-b"),
    ('length("a\\u0308")', 2),
    ('reverse("abc")', "cba"),
    ('regex_replace("a1b22", "[0-9]+", "#")', "a#b#"),
    ('hash("graph")', -1226881128866502652),
    # dates
    ("year($p.born)", 1815),
    ("weekday($p.born)", 7),
    ("day_of_year($p.born)", 344),
    ("hour($p.seen)", 23),
    ('truncate("quarter", $p.born)', dt.date(1815, 10, 1)),
    ('truncate("week", $p.born)', dt.date(1815, 12, 4)),
    ('truncate("minute", $p.seen)', INSTANT.replace(second=0, microsecond=0)),
    ('$p.seen + duration("PT0.5S")', dt.datetime(2026, 3, 1, tzinfo=dt.UTC)),
    ('date("2024-01-31") + duration("P1M")', dt.date(2024, 2, 29)),
    ('date("2024-03-31") - duration("P1M1D")', dt.date(2024, 2, 28)),
    ('difference("month", date("2024-01-31"), date("2024-03-30"))', 1),
    ('difference("day", date("2024-03-01"), date("2024-02-28"))', -2),
    # lists
    ("size($p.tags)", 3),
    ("$p.tags[0]", "b"),
    ("$p.tags[-1]", "b"),
    ("$p.tags[9]", None),
    ("$p.tags[1..]", ["a", "b"]),
    ("$p.tags[..1] || [$p.handle]", ["b", "ada"]),
    ("list_sort(list_distinct($p.tags))", ["a", "b"]),
    ("range(1, 7, 3)", [1, 4, 7]),
    ("any($t in $p.tags where $t = $p.handle)", False),
    ("all($t in $p.tags where length($t) = 1)", True),
    ('none($t in $p.tags where $t > "b")', True),
    # conversions and choices
    ('cast("12" as I32) + 1', 13),
    ('try_cast("x" as I64)', None),
    ("cast(2.9 as I64)", 2),
    ("cast(true as String)", "true"),
    ("cast($p.seen as Date)", dt.date(2026, 2, 28)),
    ('cast(["1", "2"] as [I64])', [1, 2]),
    ("coalesce($p.nothing, $p.age, 0)", 30),
    ("nullif($p.age, 30)", None),
    ('case when $p.age > 40 then "old" when $p.age > 20 then "grown" end', "grown"),
    ('case $p.handle when "bo" then 1 else 2.5 end', 2.5),
    ('$p.age > 20 and $p.handle in ["ada"]', True),
    ('$p.tags = ["b", "a", "b"]', True),
    ("id($p) || type($p)", "adaPerson"),
]

SCHEMA_ROW = {
    "handle": "ada",
    "age": 30,
    "born": dt.date(1815, 12, 10),
    "seen": INSTANT,
    "tags": ["b", "a", "b"],
}


@pytest.fixture
def ada(worlds: Any) -> Any:
    return worlds(Person=worlds.entities("handle", SCHEMA_ROW))


@pytest.mark.parametrize(("expression", "value"), VALUES, ids=[text for text, _ in VALUES])
def test_an_expression_has_its_value(ada: Any, expression: str, value: Any) -> None:
    expression = expression.replace("$p.nothing", "nullif($p.age, 30)")
    found = ada.column(f"match {{ $p: Person }} return {{ {expression} as x }}")
    assert found == [value]
    assert type(found[0]) is type(value)


@pytest.mark.parametrize(("expression", "value"), VALUES, ids=[text for text, _ in VALUES])
def test_an_expression_filters_by_its_value(ada: Any, expression: str, value: Any) -> None:
    expression = expression.replace("$p.nothing", "nullif($p.age, 30)")
    null = "is null" if value is None else "is not null"
    query = f"match {{ $p: Person  ({expression}) {null} }} return {{ $p.handle }}"
    assert ada.column(query) == ["ada"]


ERRORS = [
    ("9223372036854775807 + $p.age", "query.integer_overflow"),
    ("-9223372036854775808 - $p.age", "query.integer_overflow"),
    ("9223372036854775807 * $p.age", "query.integer_overflow"),
    ("cast($p.handle as I64)", "query.bad_cast"),
    ("cast(1e300 as I64)", "query.bad_cast"),
    ('date("9999-12-31") + duration("P1D")', "query.date_out_of_range"),
    (
        'size(split(replace("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "a", $p.long), ""))',
        "query.value_too_large",
    ),
    ("size(range(1, 100000000))", "query.value_too_large"),
    ('$p.handle matches "(a"', "query.bad_pattern"),
    ('$p.handle matches "(?=a)"', "query.bad_pattern"),
]


@pytest.mark.parametrize(("expression", "code"), ERRORS, ids=[text for text, _ in ERRORS])
def test_an_impossible_value_is_a_typed_error(worlds: Any, expression: str, code: str) -> None:
    world = worlds(Person=worlds.entities("handle", SCHEMA_ROW))
    expression = expression.replace("$p.long", f'"{"x" * 500_000}"')
    with pytest.raises(GraphError) as caught:
        world.engine_rows(f"match {{ $p: Person }} return {{ {expression} as x }}")
    assert caught.value.code == code


def test_a_branch_is_evaluated_only_for_the_rows_that_take_it(worlds: Any) -> None:
    people = worlds.entities("handle", {"handle": "a", "age": 2}, {"handle": "b", "age": 2**62})
    world = worlds(Person=people)
    doubled = "case when $p.age < 10 then $p.age * 2 else -1 end"
    query = f"match {{ $p: Person }} return {{ $p.handle, {doubled} as x }}"
    assert world.rows(query) == [("a", 4), ("b", -1)]
    assert world.column("match { $p: Person } return { coalesce($p.age, $p.age * 2) as x }") == [
        2,
        2**62,
    ]


def test_a_pattern_that_backtracks_elsewhere_takes_linear_time(worlds: Any) -> None:
    world = worlds(Person=worlds.entities("handle", {"handle": "a" * 20_000 + "b"}))
    query = 'match { $p: Person  $p.handle matches "(a*)*(a|aa)+c" } return { $p.handle }'
    assert world.engine_rows(query) == []


def test_aggregates_range_over_expressions_and_stand_in_expressions(worlds: Any) -> None:
    people = worlds.entities(
        "handle",
        {"handle": "a", "age": 1, "status": "active"},
        {"handle": "b", "age": 3, "status": "active"},
        {"handle": "c", "age": 5, "status": "retired"},
        {"handle": "d", "age": None, "status": "retired"},
    )
    world = worlds(Person=people)
    query = """match { $p: Person } return {
        $p.status as status,
        sum($p.age * 2) as doubled,
        count(*) + 1 as more,
        upper($p.status) || cast(max($p.age) as String) as shown,
        collect($p.age) as ages,
        min_by($p.handle, -$p.age) as oldest,
        percentile($p.age, 0.5) as median,
        stddev_pop($p.age) as spread
    } order { doubled }"""
    assert world.rows(query) == [
        ("active", 8, 3, "ACTIVE3", [1, 3], "b", 2.0, 1.0),
        ("retired", 10, 3, "RETIRED5", [5], "c", 5.0, 0.0),
    ]
    assert world.rows("match { $p: Person  $p.age > 9 } return { collect($p.age) as x }") == [([],)]


def test_blocks_take_the_new_aggregates(worlds: Any) -> None:
    knows = worlds.edges("ada-bo", "ada-cy")
    world = worlds.people("ada", "bo", "cy", Knows=knows)
    query = """match { $p: Person } return {
        $p.handle as p, collect { $p knows $q return upper($q.handle) } as known
    }"""
    assert world.rows(query) == [("ada", ["BO", "CY"]), ("bo", []), ("cy", [])]
