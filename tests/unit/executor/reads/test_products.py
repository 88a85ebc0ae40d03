"""Aggregates over components that share nothing: the cross product is never materialised."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from omnigraph.compiler import bind_params
from omnigraph.errors import LimitExceeded
from omnigraph.planner import PASSES, PlannerStatistics
from omnigraph.planner.build import build
from omnigraph.planner.passes.factorise import factorise
from omnigraph.planner.plan import Access, Product, walk
from omnigraph.testing.agreement import Question

NOW = dt.datetime(2026, 11, 1, 12, tzinfo=dt.UTC)
MANY = 20_000


def question(world: Any, body: str) -> Question:
    ir = world.compile(body)
    return Question(ir, world.catalog, world.tables(), bind_params(ir, {}), NOW)


def rows_of(world: Any, body: str, access: Access = Access.RESIDENT) -> list[tuple[Any, ...]]:
    """The result of the engine alone, within the default limits."""
    return [tuple(row.values()) for row in question(world, body).execute(access)]


def is_factorised(world: Any, body: str) -> bool:
    return any(isinstance(node, Product) for node in walk(question(world, body).plan().root))


@pytest.fixture(scope="module")
def crowd(worlds: Any) -> Any:
    """As many people as have a square beyond the memory of a query."""
    people = [
        {"id": f"p{place}", "handle": f"p{place}", "age": place % 10, "height": 0.1}
        for place in range(MANY)
    ]
    knows = worlds.edges(*(f"p{place}-p{(place * 7) % MANY}" for place in range(MANY)))
    cities = worlds.entities("name", {"name": "rome", "people": 3}, {"name": "oslo"})
    return worlds(Person=people, City=cities, Knows=knows, Lives=worlds.edges("p3-rome"))


@pytest.mark.parametrize("access", list(Access))
@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ("count(*) as n", [(MANY**2,)]),
        ("count($a) as n, count($b.age) as m", [(MANY**2, MANY**2)]),
        ("count(distinct $a) as n, count(distinct $b.age) as m", [(MANY, 10)]),
        ("sum($a.age) as s, avg($b.age) as m", [(MANY // 10 * 45 * MANY, 4.5)]),
        ("min($a.age) as low, max($b.handle) as high", [(0, "p9999")]),
        ("$a.age as k, count(*) as n", [(age, MANY // 10 * MANY) for age in range(10)]),
        (
            "$a.age as k, $b.age as l, count(*) as n",
            [(one, other, (MANY // 10) ** 2) for one in range(10) for other in range(10)],
        ),
    ],
)
def test_a_large_cross_product_is_aggregated_within_the_default_memory(
    crowd: Any, returned: str, expected: list[Any], access: Access
) -> None:
    body = f"match {{ $a: Person  $b: Person }} return {{ {returned} }}"
    assert rows_of(crowd, body, access) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("exists { $x lives $c  $a: Person  $b: Person  $a knows $b }", ["rome"]),
        ("not { $x lives $c  $a: Person  $b: Person }", ["oslo"]),
        ("count { $x lives $c  $a: Person  $b: Person } = 400000000", ["rome"]),
        ("count { $x lives $c  $a: Person  $b: Person } = 0", ["oslo"]),
        ("sum { $x lives $c  $a: Person  $b: Person  return $b.age } = 1800000000", ["rome"]),
        ("sum { $x lives $c  $a: Person  $b: Person  return $c.people } = 1200000000", ["rome"]),
        ("avg { $x lives $c  $a: Person  $b: Person  return $b.age } = 4.5", ["rome"]),
        ("max { $x lives $c  $a: Person  $b: Person  return $a.age } = 9", ["rome"]),
    ],
)
def test_blocks_with_large_cross_products_stay_within_the_default_memory(
    crowd: Any, condition: str, expected: list[str]
) -> None:
    body = f"match {{ $c: City  {condition} }} return {{ $c.name as c }}"
    assert rows_of(crowd, body) == [(name,) for name in expected]


@pytest.mark.parametrize("walk_of", ["$a knows $b", "$a $k:knows $b", "$a <knows> $b"])
def test_the_last_hop_of_a_walk_is_counted_by_degrees(crowd: Any, walk_of: str) -> None:
    body = f"match {{ {walk_of}  $c: Person  $d: Person }} return {{ count($b) as n }}"
    edges = rows_of(crowd, f"match {{ {walk_of} }} return {{ count($a) as n }}")[0][0]
    assert rows_of(crowd, body) == [(edges * MANY**2,)]


def test_a_count_beyond_64_bits_is_an_error_and_a_smaller_one_is_exact(crowd: Any) -> None:
    def match(people: int) -> str:
        variables = " ".join(f"$p{place}: Person" for place in range(people))
        return f"match {{ {variables} }}"

    assert rows_of(crowd, f"{match(4)} return {{ count(*) as n }}") == [(MANY**4,)]
    with pytest.raises(LimitExceeded) as caught:
        rows_of(crowd, f"{match(5)} return {{ count(*) as n }}")
    assert caught.value.code == "query.count_overflow"
    assert caught.value.details["count"] == str(MANY**5)
    with pytest.raises(LimitExceeded):
        rows_of(crowd, f"{match(5)} return {{ $p1.age as k, count($p3.age) as n }}")
    with pytest.raises(LimitExceeded) as caught:
        rows_of(crowd, f"{match(5)} return {{ sum($p1.age) as n }}")
    assert caught.value.code == "query.sum_overflow"
    # Aggregates that do not depend on the number of rows do not overflow.
    returned = "avg($p1.age) as a, min($p2.age) as b, count(distinct $p3) as c"
    assert rows_of(crowd, f"{match(5)} return {{ {returned} }}") == [(4.5, 0, MANY)]


def test_a_sum_of_floats_is_multiplied_before_it_is_rounded(crowd: Any) -> None:
    body = "match { $a: Person  $b: Person } return { sum($a.height) as s, avg($a.height) as m }"
    each = Fraction(float(np.float32(0.1)))
    assert rows_of(crowd, body) == [(float(each * MANY**2), float(each))]


def test_factorised_sums_equal_those_of_the_materialised_rows(worlds: Any) -> None:
    """The same engine without the pass, on rows that no reference evaluator could multiply."""
    random = np.random.default_rng(11)
    heights = random.normal(size=300) * 10.0 ** random.integers(-30, 30, 300)
    people = [
        {"handle": f"p{place}", "age": int(place % 7), "height": float(np.float32(height))}
        for place, height in enumerate(heights)
    ]
    cities = [{"name": f"c{place}", "people": place % 3} for place in range(70)]
    world = worlds(Person=worlds.entities("handle", *people), City=worlds.entities("name", *cities))
    folds = "sum($p.height) as s, avg($p.height) as m, sum($c.people) as t, count(*) as n"
    asked = question(
        world,
        f"match {{ $p: Person  $c: City }} return {{ $c.people as k, $p.age as g, {folds} }}",
    )
    plan = build(asked.ir)
    for run in PASSES:
        if run is not factorise:
            plan = run(plan, PlannerStatistics(world.catalog, {}))
    assert not any(isinstance(node, Product) for node in walk(plan.root))
    found = asked.execute(Access.RESIDENT)
    assert len(found) == 21
    assert found.rows() == asked.execute(Access.RESIDENT, plan).rows()


def test_the_groups_of_too_many_combinations_exceed_the_memory(crowd: Any) -> None:
    body = "match { $a: Person  $b: Person } return { $a.handle, $b.handle, count(*) as n }"
    with pytest.raises(LimitExceeded) as caught:
        rows_of(crowd, body)
    assert caught.value.code == "query.memory_limit"


@pytest.fixture
def world(worlds: Any) -> Any:
    people = worlds.entities(
        "handle",
        {"handle": "ada", "age": 36, "height": 1.5, "status": "active"},
        {"handle": "bo", "age": None, "height": math.inf, "status": "active"},
        {"handle": "cy", "age": 7, "height": -0.0, "status": "retired"},
        {"handle": "dee", "age": 36, "height": None, "status": None},
    )
    cities = worlds.entities("name", {"name": "rome", "people": 3}, {"name": "oslo"})
    return worlds(
        Person=people,
        City=cities,
        Knows=worlds.edges("ada-bo", "ada-cy", "cy-dee", "bo-bo"),
        Lives=worlds.edges("ada-rome", "cy-oslo"),
    )


PAIR = "match { $a: Person  $c: City }"
EMPTY = "match { $a: Person  $d: Doc }"


@pytest.mark.parametrize(
    "body",
    [
        f"{PAIR} return {{ count(*) as n, count($a) as a, count(distinct $c.people) as p }}",
        f"{PAIR} return {{ sum($a.age) as s, avg($c.people) as m, max($a.handle) as h }}",
        f"{PAIR} return {{ sum($a.height) as s, avg($a.height) as m }}",
        f"{PAIR} return {{ $c.people as p, $a.age as g, count(*) as n, sum($a.age) as s }}",
        f"{PAIR} return {{ $a.age as g, $c.people as p, $a.status as t, count($a) as n }}",
        f"{PAIR} return {{ $a, $c, count(*) as n }}",
        f"{PAIR} return {{ $a.age as g, count(*) as n }} order {{ n desc, g desc }} limit 2",
        f"{PAIR} return {{ $a.age as g, count(*) as n }} order {{ n }} limit 1 offset 1",
        f"{PAIR} return distinct {{ $c.people as p, $a.age as g }}",
        f"{PAIR} return distinct {{ 7 as seven }}",
        f"{EMPTY} return {{ count(*) as n, sum($a.age) as s, count(distinct $a) as d }}",
        f"{EMPTY} return {{ $a.age as g, max($d.pages) as n }}",
        f"{EMPTY} return {{ $a, $d, count(*) as n }}",
        f"{EMPTY} return distinct {{ 7 as seven }}",
        f"{PAIR[:-1]} $a.age > 100 }} return {{ count(*) as n, max($c.people) as m }}",
        f"{PAIR[:-1]} not {{ $a lives $any }} }} return {{ $c.name as c, count(*) as n }}",
        f"{PAIR[:-1]} $a knows $b }} return {{ $c.name as c, count($b) as n, sum($b.age) as s }}",
        f"{PAIR[:-1]} $a $k:knows $b }} return {{ $c.name as c, count($k) as n }}",
    ],
)
def test_factorised_aggregates_equal_the_materialised_ones(world: Any, body: str) -> None:
    assert is_factorised(world, body)
    world.rows(body)


@pytest.mark.parametrize(
    "body",
    [
        # A condition or a hop links the components.
        f"{PAIR[:-1]} $a.age > $c.people }} return {{ count(*) as n }}",
        f"{PAIR[:-1]} $a lives $c }} return {{ count(*) as n }}",
        # No aggregate.
        f"{PAIR} return {{ $a.handle as a, $c.name as c }}",
    ],
)
def test_linked_components_and_plain_rows_are_not_factorised(world: Any, body: str) -> None:
    assert not is_factorised(world, body)
    world.rows(body)


def test_only_the_components_that_a_key_links_are_joined(world: Any) -> None:
    ir = world.compile(
        "match { $a: Person  $c: City  $b: Person  count { $a lives $c } >= 0 }"
        " return { $a.age as k, count($b.age) as n }"
    )
    (condition,) = ir.match.filters
    key = replace(ir.returns[0], expr=condition.left)
    ir = replace(ir, match=replace(ir.match, filters=()), returns=(key, ir.returns[1]))
    plan = Question(ir, world.catalog, world.tables(), {}, NOW).plan()
    (product,) = [node for node in walk(plan.root) if isinstance(node, Product)]
    assert len(product.parts) == 2
    assert [tuple(row.values()) for row in world.evaluate(ir)] == [(0, 18), (1, 6)]
