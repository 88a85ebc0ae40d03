"""Planned execution against the reference evaluator: any read, any graph, every way of access.

The reference evaluator is itself compared with SQL and with smaller models, in
``test_queries_in_duckdb``, ``test_reference_match`` and ``test_result_rows``.
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
from omnigraph.planner import PASSES, PlannerStatistics, plan_read
from omnigraph.planner.build import build
from omnigraph.planner.passes.join_order import order_joins
from omnigraph.planner.plan import Access
from omnigraph.testing.agreement import Question, agree, outcome_of
from omnigraph.testing.examples import examples
from omnigraph.testing.memory_tables import MemorySource
from omnigraph.testing.random_products import product_reads
from omnigraph.testing.random_reads import CATALOG, NOW, PARAMS, RandomGraph, graphs, reads
from omnigraph.testing.random_stages import optional_reads, staged_reads

if TYPE_CHECKING:
    from omnigraph.ir.queries import ReadIR


def question(graph: RandomGraph, ir: ReadIR) -> Question:
    tables = {type_id: graph.table(type_id) for type_id in CATALOG.types}
    return Question(ir, CATALOG, tables, PARAMS, NOW)


@settings(max_examples=examples(60))
@given(graphs(), reads())
def test_a_plan_answers_what_the_definition_answers_in_every_way_of_access(
    graph: RandomGraph, ir: ReadIR
) -> None:
    question(graph, ir).require_agreement()


@settings(max_examples=examples(60))
@given(graphs(), product_reads())
def test_a_factorised_plan_has_the_result_of_the_definition(graph: RandomGraph, ir: ReadIR) -> None:
    question(graph, ir).require_agreement()


@settings(max_examples=examples(60))
@given(graphs(), staged_reads() | optional_reads())
def test_stages_and_optional_blocks_have_the_result_of_the_definition(
    graph: RandomGraph, ir: ReadIR
) -> None:
    question(graph, ir).require_agreement()


@given(
    graphs(),
    reads() | product_reads() | staged_reads() | optional_reads(),
    st.sets(st.sampled_from([each for each in PASSES if each is not order_joins])),
)
def test_any_pass_may_be_left_out(graph: RandomGraph, ir: ReadIR, left_out: set[Any]) -> None:
    plan = build(ir)
    for run in PASSES:
        if run not in left_out:
            plan = run(plan, PlannerStatistics(CATALOG, graph.counts()))
    # Looking up needs to know the columns; everything else only saves work.
    asked = question(graph, ir)
    assert agree(asked.by_engine(Access.RESIDENT, plan), asked.by_reference())


@given(graphs(), reads(), st.integers(0, 10**6), st.integers(0, 10**6))
def test_wrong_statistics_make_no_wrong_answers(
    graph: RandomGraph, ir: ReadIR, most: int, least: int
) -> None:
    counts: dict[str, int] = {
        type_id: most if place % 2 else least for place, type_id in enumerate(CATALOG.types)
    }
    question(graph, ir).require_agreement(plan_read(ir, PlannerStatistics(CATALOG, counts)))


@given(graphs(), reads(), st.randoms())
def test_the_answer_does_not_depend_on_where_rows_are_stored(
    graph: RandomGraph, ir: ReadIR, random: Any
) -> None:
    shuffled = RandomGraph(
        {type_id: random.sample(list(rows), len(rows)) for type_id, rows in graph.rows.items()}
    )
    one, other = question(graph, ir), question(shuffled, ir)
    for access in Access:
        assert agree(other.by_engine(access, one.plan()), one.by_engine(access))


@given(graphs(), reads())
def test_a_stream_has_the_rows_of_the_whole(graph: RandomGraph, ir: ReadIR) -> None:
    source = MemorySource({type_id: graph.table(type_id) for type_id in CATALOG.types})
    executable = Executable(plan_read(ir, PlannerStatistics(CATALOG, graph.counts())), CATALOG)
    call = Call(PARAMS, NOW, cache=ByteCache(10**7))
    try:
        whole = execute(executable, source, call)
    except GraphError:
        return
    streamed = stream(executable, source, call)
    assert streamed.row_count == len(whole)
    assert agree(outcome_of(streamed.read_all()), outcome_of(whole))


@given(graphs(), reads(), st.integers(0, 2_000))
def test_a_small_cache_makes_no_other_answers(graph: RandomGraph, ir: ReadIR, budget: int) -> None:
    source = MemorySource({type_id: graph.table(type_id) for type_id in CATALOG.types})
    plan = replace(
        plan_read(ir, PlannerStatistics(CATALOG, graph.counts())), access=Access.RESIDENT
    )
    found: Any
    try:
        found = outcome_of(
            execute(Executable(plan, CATALOG), source, Call(PARAMS, NOW, cache=ByteCache(budget)))
        )
    except GraphError as error:
        found = ("failed", error.code)
    assert agree(found, question(graph, ir).by_reference())


@pytest.mark.slow
@settings(max_examples=20_000)
@given(graphs(), reads() | product_reads())
def test_a_plan_answers_what_the_definition_answers_at_length(
    graph: RandomGraph, ir: ReadIR
) -> None:
    question(graph, ir).require_agreement()
