"""Planned execution against the naive evaluator: any read, on any graph, in every way of access.

The naive evaluator is itself held against models that share nothing with it, in
``test_naive_match`` and ``test_naive_results``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.errors import GraphError
from omnigraph.executor.cache import ByteCache
from omnigraph.executor.execute import Call, Executable, execute, stream
from omnigraph.executor.naive.evaluate import evaluate
from omnigraph.planner import PASSES, Facts, plan_read
from omnigraph.planner.build import build
from omnigraph.planner.passes.join_order import order_joins
from omnigraph.planner.plan import Access
from omnigraph.testing.examples import examples
from omnigraph.testing.memory_tables import MemorySource
from omnigraph.testing.random_reads import CATALOG, NOW, PARAMS, RandomGraph, graphs, reads

if TYPE_CHECKING:
    from omnigraph.executor.result import QueryResult
    from omnigraph.ir.queries import ReadIR
    from omnigraph.planner import Plan

# What an evaluation came to: its schema and rows, or the code of its error.
Outcome = tuple[Any, Any]
OVERFLOW: Outcome = ("failed", "query.sum_overflow")


def outcome_of(result: QueryResult) -> Outcome:
    return result.to_arrow().schema, result.rows()


def naive(graph: RandomGraph, ir: ReadIR) -> Outcome:
    try:
        return outcome_of(evaluate(ir, CATALOG, PARAMS, graph.table, now=NOW))
    except GraphError as error:
        return "failed", error.code


def planned(graph: RandomGraph, plan: Plan, access: Access) -> Outcome:
    source = MemorySource({type_id: graph.table(type_id) for type_id in CATALOG.types})
    executable = Executable(plan, CATALOG).with_access(access)
    try:
        return outcome_of(execute(executable, source, Call(PARAMS, NOW, cache=ByteCache(10**7))))
    except GraphError as error:
        return "failed", error.code


def facts_of(graph: RandomGraph) -> Facts:
    return Facts(CATALOG, graph.counts())


def agree(one: Outcome, other: Outcome) -> bool:
    """Equal, or a sum overflowed: whether anyone asks for it depends on what is filtered first."""
    return one == other or OVERFLOW in (one, other)


def require_equal(graph: RandomGraph, ir: ReadIR, plan: Plan) -> None:
    expected = naive(graph, ir)
    for access in Access:
        found = planned(graph, plan, access)
        assert agree(found, expected), (access, found, expected)


@settings(max_examples=examples(60))
@given(graphs(), reads())
def test_a_plan_answers_what_the_definition_answers_in_every_way_of_access(
    graph: RandomGraph, ir: ReadIR
) -> None:
    require_equal(graph, ir, plan_read(ir, facts_of(graph)))


@given(
    graphs(),
    reads(),
    st.sets(st.sampled_from([each for each in PASSES if each is not order_joins])),
)
def test_any_pass_may_be_left_out(graph: RandomGraph, ir: ReadIR, left_out: set[Any]) -> None:
    plan = build(ir)
    for run in PASSES:
        if run not in left_out:
            plan = run(plan, facts_of(graph))
    # Looking up needs to know the columns; everything else only saves work.
    assert agree(planned(graph, plan, Access.RESIDENT), naive(graph, ir))


@given(graphs(), reads(), st.integers(0, 10**6), st.integers(0, 10**6))
def test_wrong_statistics_make_no_wrong_answers(
    graph: RandomGraph, ir: ReadIR, most: int, least: int
) -> None:
    counts = {type_id: most if place % 2 else least for place, type_id in enumerate(CATALOG.types)}
    require_equal(graph, ir, plan_read(ir, Facts(CATALOG, counts)))


@given(graphs(), reads(), st.randoms())
def test_the_answer_does_not_depend_on_where_rows_are_stored(
    graph: RandomGraph, ir: ReadIR, random: Any
) -> None:
    shuffled = RandomGraph(
        {type_id: random.sample(list(rows), len(rows)) for type_id, rows in graph.rows.items()}
    )
    plan = plan_read(ir, facts_of(graph))
    for access in Access:
        assert agree(planned(shuffled, plan, access), planned(graph, plan, access))


@given(graphs(), reads())
def test_a_stream_has_the_rows_of_the_whole(graph: RandomGraph, ir: ReadIR) -> None:
    source = MemorySource({type_id: graph.table(type_id) for type_id in CATALOG.types})
    executable = Executable(plan_read(ir, facts_of(graph)), CATALOG)
    call = Call(PARAMS, NOW, cache=ByteCache(10**7))
    try:
        whole = execute(executable, source, call)
    except GraphError:
        return
    streamed = stream(executable, source, call)
    assert streamed.row_count == len(whole)
    assert outcome_of(streamed.read_all()) == outcome_of(whole)


@given(graphs(), reads(), st.integers(0, 2_000))
def test_a_small_cache_makes_no_other_answers(graph: RandomGraph, ir: ReadIR, budget: int) -> None:
    source = MemorySource({type_id: graph.table(type_id) for type_id in CATALOG.types})
    plan = replace(plan_read(ir, facts_of(graph)), access=Access.RESIDENT)
    try:
        found = outcome_of(
            execute(Executable(plan, CATALOG), source, Call(PARAMS, NOW, cache=ByteCache(budget)))
        )
    except GraphError as error:
        found = "failed", error.code
    assert agree(found, naive(graph, ir))


@pytest.mark.slow
@settings(max_examples=20_000)
@given(graphs(), reads())
def test_a_plan_answers_what_the_definition_answers_at_length(
    graph: RandomGraph, ir: ReadIR
) -> None:
    require_equal(graph, ir, plan_read(ir, facts_of(graph)))
