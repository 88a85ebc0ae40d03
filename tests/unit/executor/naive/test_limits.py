"""Budgets, cancellation and broken promises, seen from a whole query."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.errors import GraphError, InvalidInput, InvariantBroken, LimitExceeded
from omnigraph.executor import Budget, Cancellation
from omnigraph.executor.naive.evaluate import evaluate

if TYPE_CHECKING:
    import pyarrow as pa

NOW = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
ALL = "match { $p: Person } return { $p.handle }"
PAIRS = "match { $a: Person  $b: Person } return { count(*) as n }"


@pytest.fixture
def world(worlds: Any) -> Any:
    return worlds.people(*(f"p{place:03}" for place in range(100)))


def test_the_row_budget_counts_the_rows_of_the_result(world: Any) -> None:
    assert len(world.run(ALL, budget=Budget(rows=100))) == 100
    with pytest.raises(LimitExceeded) as caught:
        world.run(ALL, budget=Budget(rows=99))
    assert caught.value.details["resource_limit"] == {"name": "rows", "limit": 99, "actual": 100}
    assert world.column(f"{ALL} limit 2", budget=Budget(rows=2)) == ["p000", "p001"]
    assert world.column(PAIRS, budget=Budget(rows=1)) == [10_000]


def test_the_memory_budget_counts_rows_that_are_held(world: Any) -> None:
    with pytest.raises(LimitExceeded) as caught:
        world.run(PAIRS, budget=Budget(memory_bytes=500_000))
    assert caught.value.code == "query.memory_limit"


def test_the_time_budget_stops_a_long_match(world: Any) -> None:
    with pytest.raises(LimitExceeded) as caught:
        world.run(
            "match { $a: Person  $b: Person  $c: Person  $d: Person } return { count(*) as n }",
            budget=Budget(seconds=0.05),
        )
    assert caught.value.code == "query.time_limit"


def test_a_cancelled_query_returns_nothing(world: Any) -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    with pytest.raises(GraphError) as caught:
        world.run(ALL, budget=Budget(cancellation=cancellation))
    assert caught.value.code == "query.cancelled"


def test_parameters_that_were_not_bound_are_named(world: Any) -> None:
    ir = world.compile(f"{ALL} limit $n", "$n: I64")
    with pytest.raises(InvalidInput) as caught:
        evaluate(ir, world.catalog, {}, world.read_table, now=NOW)
    assert caught.value.code == "param.missing"


def test_a_table_without_a_column_of_the_schema_is_a_broken_snapshot(world: Any) -> None:
    ir = world.compile(ALL)

    def read_table(type_id: Any) -> pa.Table:
        return world.read_table(type_id).select(["id"])

    with pytest.raises(InvariantBroken) as caught:
        evaluate(ir, world.catalog, {}, read_table, now=NOW)
    assert caught.value.number == 3


def test_a_null_in_a_column_that_was_compiled_as_never_null_is_loud(worlds: Any) -> None:
    world = worlds(Person=[{"id": "x", "handle": None}])
    with pytest.raises(InvariantBroken) as caught:
        world.run(ALL)
    assert caught.value.number == 10
