"""Reads through the facade: fresh, bounded, prepared, listed, the same in every mode."""

from __future__ import annotations

import gc
import json
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.api.queries import QueryRequest
from omnigraph.errors import GraphError, InvalidInput, LimitExceeded, NotFound, TypeFailure
from omnigraph.executor import execute, output
from omnigraph.executor.cache import ByteCache, pin_key, shared_cache
from omnigraph.executor.columns.pinned_columns import column_key, index_key
from omnigraph.executor.operators import expand as expands
from omnigraph.executor.operators import filter as filters
from omnigraph.executor.operators import join as joins
from omnigraph.executor.traversal import hops
from omnigraph.graph.open import open_graph
from omnigraph.runtime.budget import Budget
from omnigraph.runtime.cancellation import Cancellation
from omnigraph.session import prepared_queries as prepared
from omnigraph.session.query import run_query
from omnigraph.testing.agreement import question_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from omnigraph.graph.facade import EmbeddedGraph

SCHEMA = """
node Person {
    name: String @key
    age: I64?
}
edge Knows: Person -> Person { since: I64? }
"""
ADD = "query add($n: String, $a: I64?) { insert Person { name: $n, age: $a } }"
LINK = "query link($a: String, $b: String) { insert Knows { from: $a, to: $b } }"
ALL = "query all() { match { $p: Person } return { $p.name as name, $p.age as age } }"
FRIENDS = """query friends($n: String) {
    match { $p: Person { name: $n }  $p knows $q } return { $q.name as name }
}"""
PAIRS = """
query pairs() {
    match { $p: Person  $q: Person  $r: Person  $p.name <= $q.name  $q.name <= $r.name }
    return { count(*) as n }
}
"""
MODES = ("csr", "indexed")


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[EmbeddedGraph]:
    with omnigraph.init(tmp_path / "g.omni", SCHEMA, actor="ada", durability="process") as made:
        for name, age in (("ada", 36), ("bo", None), ("cy", 7)):
            made.mutate(ADD, {"n": name, "a": age})
        made.mutate(LINK, {"a": "ada", "b": "bo"})
        made.mutate(LINK, {"a": "ada", "b": "cy"})
        yield made


def names(found: Any) -> list[str]:
    return [row["name"] for row in found]


# --- snapshots ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_a_branch_and_its_parent_answer_for_themselves(graph: EmbeddedGraph, mode: str) -> None:
    graph.branches.create("review")
    graph.mutate(ADD, {"n": "dee", "a": 1}, branch="review")
    graph.mutate(LINK, {"a": "ada", "b": "dee"}, branch="review")
    there = graph.at("review")
    assert names(there.query(FRIENDS, {"n": "ada"}, traversal=mode)) == ["bo", "cy", "dee"]
    assert names(graph.query(FRIENDS, {"n": "ada"}, traversal=mode)) == ["bo", "cy"]


@pytest.mark.parametrize("mode", MODES)
def test_the_past_answers_as_it_did(graph: EmbeddedGraph, mode: str) -> None:
    before = graph.query(ALL).commit_id
    graph.mutate('query gone() { delete Person where name = "bo" }')
    assert names(graph.query(FRIENDS, {"n": "ada"}, traversal=mode)) == ["cy"]
    past = graph.at(str(before)).query(FRIENDS, {"n": "ada"}, traversal=mode)
    assert names(past) == ["bo", "cy"]
    assert past.commit_id == before


def test_a_read_sees_what_another_handle_has_committed(graph: EmbeddedGraph) -> None:
    with open_graph(graph.uri, read_only=True) as reader:
        assert len(reader.query(ALL)) == 3
        graph.mutate(ADD, {"n": "dee", "a": 1})
        assert len(reader.query(ALL)) == 4


def test_a_result_knows_its_snapshot(graph: EmbeddedGraph) -> None:
    found = graph.query(ALL)
    assert found.commit_id == graph.commits.list().commits[0].id
    assert found.to_json()["target"] == {"branch": "main"}


# --- the definition ----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_a_plan_and_the_definition_agree(graph: EmbeddedGraph, mode: str) -> None:
    engine = graph.engine
    for text, params in ((ALL, {}), (FRIENDS, {"n": "ada"}), (FRIENDS, {"n": "nobody"})):
        request = QueryRequest(text, params, traversal=mode)
        _, expected = question_of(engine, request).by_reference()
        assert run_query(engine, request).rows() == expected


def test_an_unknown_mode_is_refused(graph: EmbeddedGraph) -> None:
    with pytest.raises(InvalidInput) as caught:
        graph.query(ALL, traversal="magic")
    assert caught.value.code == "query.traversal"


def test_the_environment_may_ask_for_a_mode(
    graph: EmbeddedGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_TRAVERSAL_MODE", "indexed")
    with open_graph(graph.uri, read_only=True) as other:
        assert other.explain(ALL).to_json()["plan"]["access"] == "lookups"
        assert other.explain(ALL, traversal="csr").to_json()["plan"]["access"] == "memory"


# --- bad input ---------------------------------------------------------------------------------


def test_a_mutation_is_no_query(graph: EmbeddedGraph) -> None:
    with pytest.raises(InvalidInput) as caught:
        graph.query(ADD, {"n": "x"})
    assert caught.value.code == "query.mutates"


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({}, "param.missing"),
        ({"n": 3}, "param.type"),
        ({"n": "a", "x": 1}, "param.unknown"),
        (["ada"], "param.type"),
    ],
)
def test_wrong_parameters_are_refused_before_anything_runs(
    graph: EmbeddedGraph, params: Any, code: str
) -> None:
    with pytest.raises(TypeFailure) as caught:
        graph.query(FRIENDS, params)
    assert caught.value.code == code


@pytest.mark.parametrize("text", [5, None, b"query", ["query"]])
@pytest.mark.parametrize("verb", ["query", "stream", "explain", "profile", "mutate"])
def test_a_query_that_is_no_text_is_refused(graph: EmbeddedGraph, verb: str, text: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        getattr(graph, verb)(text)
    assert caught.value.code == "query.bad_type"
    with pytest.raises(InvalidInput) as caught:
        getattr(graph, verb)(ALL, name=["all"])
    assert caught.value.code == "query.bad_type"


@pytest.mark.parametrize(
    "options", [{"budget": 5}, {"budget": {"rows": 1}}, {"traversal": ["csr"]}]
)
def test_options_of_another_type_are_refused(graph: EmbeddedGraph, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        graph.query(ALL, **options)


def test_a_distinct_constant_of_no_rows_is_no_row(graph: EmbeddedGraph) -> None:
    text = 'query q() { match { $p: Person { name: "x" } } return distinct { 7 as seven } }'
    assert graph.query(text).rows() == []
    assert graph.query(text.replace('"x"', '"ada"')).rows() == [{"seven": 7}]


def test_a_parameter_may_be_named_with_its_dollar(graph: EmbeddedGraph) -> None:
    assert names(graph.query(FRIENDS, {"$n": "ada"})) == ["bo", "cy"]


@pytest.mark.parametrize("clause", ["limit", "offset"])
def test_a_negative_page_is_refused(graph: EmbeddedGraph, clause: str) -> None:
    text = f"query q($x: I64) {{ match {{ $p: Person }} return {{ $p.name }} {clause} $x }}"
    with pytest.raises(InvalidInput) as caught:
        graph.query(text, {"x": -1})
    assert caught.value.code == f"query.negative_{clause}"


# --- budgets and cancellation ------------------------------------------------------------------


def test_too_many_rows_are_an_error_and_no_shorter_answer(graph: EmbeddedGraph) -> None:
    with pytest.raises(LimitExceeded) as caught:
        graph.query(ALL, budget=Budget(rows=2))
    assert caught.value.code == "query.rows_limit"
    assert len(graph.query(ALL, budget=Budget(rows=3))) == 3


@pytest.mark.parametrize("mode", MODES)
def test_memory_is_bounded(graph: EmbeddedGraph, mode: str) -> None:
    with pytest.raises(LimitExceeded) as caught:
        graph.query(PAIRS, budget=Budget(memory_bytes=100), traversal=mode)
    assert caught.value.details["resource_limit"]["name"] == "memory_bytes"


def test_what_rows_show_is_bounded_too(tmp_path: Path) -> None:
    """One long text in every row: the rows are small, the answer is not."""
    schema = "node Doc {\n    slug: String @key\n    body: String\n}\nnode Row {\n    n: I64\n}"
    text = "query q() { match { $d: Doc  $r: Row } return { $r.n as n, $d.body as body } }"
    with omnigraph.init(tmp_path / "g.omni", schema, durability="process") as graph:
        graph.load({"Doc": pa.table({"slug": ["a"], "body": ["x" * 50_000]})}, mode="append")
        graph.load({"Row": pa.table({"n": list(range(3_000))})}, mode="append")
        with pytest.raises(LimitExceeded) as caught:
            graph.query(text, budget=Budget(memory_bytes=20 << 20))
        assert caught.value.code == "query.memory_limit"
        sizes = [batch.num_rows for batch in graph.stream(text)]
    assert sum(sizes) == 3_000
    assert max(sizes) < 2_000, "batches are bounded by what they weigh"


def test_time_is_bounded(graph: EmbeddedGraph) -> None:
    with pytest.raises(LimitExceeded) as caught:
        graph.query(ALL, budget=Budget(seconds=0.0))
    assert caught.value.code == "query.time_limit"


class CountingClock:
    """A clock on which every look takes a second."""

    def __init__(self) -> None:
        self.looks = 0

    def now_micros(self) -> int:
        return 0

    def monotonic(self) -> float:
        self.looks += 1
        return float(self.looks)

    def sleep(self, seconds: float) -> None:
        raise AssertionError(seconds)


@pytest.mark.parametrize(
    "pattern",
    [
        "$p: Person  $q: Person  $p.age < $q.age",
        "$p: Person  $q: Person  $p.age = $q.age",
        "$p: Person  $p knows $q",
    ],
)
def test_large_joins_and_hops_work_in_pieces_and_look_at_the_clock_between_them(
    graph: EmbeddedGraph, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    text = f"query q() {{ match {{ {pattern} }} return {{ $p.name as p, $q.name as q }} }}"
    expected = graph.query(text).rows()
    clock = CountingClock()
    graph.query(text, budget=Budget(clock=clock))
    before = clock.looks
    for module in (filters, joins, expands):
        monkeypatch.setattr(module, "PIECE_ROWS", 1)
    monkeypatch.setattr(hops, "_FEW_NODES", 0)
    clock.looks = 0
    assert graph.query(text, budget=Budget(clock=clock, seconds=None)).rows() == expected
    assert clock.looks > before
    with pytest.raises(LimitExceeded) as caught:
        graph.query(text, budget=Budget(clock=CountingClock(), seconds=clock.looks - 2))
    assert caught.value.code == "query.time_limit"


def test_pairs_that_do_not_pass_take_no_memory(graph: EmbeddedGraph) -> None:
    people = pa.table({"name": [f"p{place:04d}" for place in range(2_000)], "age": range(2_000)})
    graph.load({"Person": people}, mode="append")
    text = """query q() {
        match { $p: Person  $q: Person  $p.age > $q.age  $p.age < 2 } return { count(*) as n }
    }"""
    tight = Budget(memory_bytes=8 << 20)
    assert graph.query(text.replace("< 2", "< 2  $q.age >= 0"), budget=tight).rows() == [{"n": 1}]
    profile = graph.profile(text)
    assert "Join" in str(profile)
    with pytest.raises(LimitExceeded):
        graph.query(
            "query q() { match { $p: Person  $q: Person } return { $p.name, $q.name } }",
            budget=tight,
        )


def test_what_is_no_budget_does_not_become_that_of_the_graph(graph: EmbeddedGraph) -> None:
    given: Any = 5
    with pytest.raises(InvalidInput) as caught:
        graph.budget = given
    assert caught.value.code == "query.budget"
    assert len(graph.query(ALL)) == 3


def test_a_graph_has_a_budget_of_its_own(graph: EmbeddedGraph) -> None:
    graph.budget = Budget(rows=1)
    with pytest.raises(LimitExceeded):
        graph.query(ALL)
    assert len(graph.query(ALL, budget=Budget())) == 3


def test_a_token_cancels_from_anywhere(graph: EmbeddedGraph) -> None:
    token = Cancellation()
    token.cancel()
    with pytest.raises(GraphError) as caught:
        graph.query(ALL, budget=Budget(cancellation=token))
    assert caught.value.code == "query.cancelled"


class HeldClock:
    """A clock that lets a test look while a query runs."""

    def __init__(self) -> None:
        self.running, self.go_on = threading.Event(), threading.Event()

    def now_micros(self) -> int:
        return 0

    def monotonic(self) -> float:
        self.running.set()
        self.go_on.wait(10)
        return 0.0

    def sleep(self, seconds: float) -> None:
        raise AssertionError(seconds)


def test_a_running_query_is_listed_and_can_be_cancelled(graph: EmbeddedGraph) -> None:
    clock = HeldClock()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(graph.query, ALL, budget=Budget(clock=clock))
        assert clock.running.wait(10)
        (operation,) = graph.operations.list()
        assert operation.to_json()["kind"] == "query"
        graph.operations.cancel(operation.id)
        clock.go_on.set()
        with pytest.raises(GraphError) as caught:
            future.result()
    assert caught.value.code == "query.cancelled"
    assert graph.operations.list() == []


def test_a_stream_is_listed_while_it_is_read_and_can_be_cancelled(tmp_path: Path) -> None:
    people = pa.table({"name": [f"p{place:05d}" for place in range(5_000)]})
    with omnigraph.init(tmp_path / "g.omni", SCHEMA, durability="process") as graph:
        graph.load({"Person": people}, mode="append")
        batches = iter(graph.stream(ALL))
        next(batches)
        (operation,) = graph.operations.list()
        graph.operations.cancel(operation.id)
        with pytest.raises(GraphError) as caught:
            next(batches)
        assert caught.value.code == "query.cancelled"
        assert graph.operations.list() == []
        left = iter(graph.stream(ALL))
        next(left)
        del left
        assert graph.operations.list() == [], "nobody reads on"


def test_what_is_not_running_cannot_be_cancelled(graph: EmbeddedGraph) -> None:
    with pytest.raises(NotFound) as caught:
        graph.operations.cancel("nothing")
    assert caught.value.code == "operation.missing"


# --- preparation -------------------------------------------------------------------------------


def test_a_query_is_prepared_once(graph: EmbeddedGraph) -> None:
    engine = graph.engine
    snapshot = engine.snapshot()
    first = engine.prepared.prepare(snapshot, ALL, None, "x")
    assert engine.prepared.prepare(snapshot, ALL, None, "y") is first
    assert first.planned(snapshot) is first.planned(snapshot)


def test_a_query_that_is_run_again_has_its_own_parameters_and_budget(graph: EmbeddedGraph) -> None:
    assert sorted(names(graph.query(FRIENDS, {"n": "ada"}))) == ["bo", "cy"]
    token = Cancellation()
    token.cancel()
    for budget in (Budget(rows=1), Budget(seconds=0.0), Budget(cancellation=token)):
        with pytest.raises(GraphError):
            graph.query(FRIENDS, {"n": "ada"}, budget=budget)
        assert names(graph.query(FRIENDS, {"n": "bo"})) == []
        assert sorted(names(graph.query(FRIENDS, {"n": "ada"}))) == ["bo", "cy"]


def test_a_query_that_has_ended_holds_on_to_no_column(graph: EmbeddedGraph) -> None:
    assert len(graph.query(ALL)) == 3
    (pin,) = (pin for pin in graph.engine.snapshot().manifest.pins.values() if pin.rows == 3)
    key = column_key(pin_key(pin), "name")
    array = weakref.ref(shared_cache().get(key).array)
    shared_cache().clear()
    gc.collect()
    assert array() is None


def test_a_plan_is_made_anew_when_a_table_has_grown_a_lot(graph: EmbeddedGraph) -> None:
    engine = graph.engine
    before = engine.snapshot()
    prepared = engine.prepared.prepare(before, ALL, None, "x")
    planned = prepared.planned(before)
    graph.mutate(ADD, {"n": "one more", "a": 1})
    graph.load({"Person": pa.table({"name": [f"p{place}" for place in range(500)]})}, mode="append")
    assert prepared.planned(engine.snapshot()) is not planned
    assert prepared.planned(before) is planned


def test_another_schema_means_another_compilation(graph: EmbeddedGraph) -> None:
    engine = graph.engine
    first = engine.prepared.prepare(engine.snapshot(), ALL, None, "x")
    graph.apply_schema(SCHEMA.replace("age: I64?", "age: I64?\n    city: String?"))
    assert engine.prepared.prepare(engine.snapshot(), ALL, None, "x") is not first
    assert len(graph.query(ALL)) == 3


def test_threads_share_an_open_graph(graph: EmbeddedGraph) -> None:
    def ask(place: int) -> list[str]:
        mode = MODES[place % 2]
        return names(graph.query(FRIENDS, {"n": "ada"}, traversal=mode))

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(64)))
    assert all(answer == ["bo", "cy"] for answer in answers)


# --- large tables ------------------------------------------------------------------------------


def test_a_lookup_in_a_cold_large_table_loads_no_column_until_it_pays(tmp_path: Path) -> None:
    count = 300_000
    people = pa.table({"name": [f"p{place:06d}" for place in range(count)], "age": range(count)})
    with omnigraph.init(tmp_path / "g.omni", SCHEMA, durability="process") as graph:
        graph.load({"Person": people}, mode="append")
        snapshot = graph.engine.snapshot()
        (person,) = snapshot.catalog.nodes
        pin = pin_key(snapshot.manifest.pins[person.id])
        lookup = (
            "query q($n: String) { match { $p: Person { name: $n } } return { $p.age as age } }"
        )
        assert graph.query(lookup, {"n": "p000123"}).rows() == [{"age": 123}]
        assert index_key(pin) not in shared_cache()
        assert column_key(pin, "id") not in shared_cache()
        for place in range(200):
            assert graph.query(lookup, {"n": f"p{place:06d}"}).rows() == [{"age": place}]
        assert index_key(pin) in shared_cache()


# --- streams, explain, profile -----------------------------------------------------------------


def test_a_stream_gives_batches_of_one_snapshot(graph: EmbeddedGraph) -> None:
    found = graph.stream(ALL)
    assert found.row_count == 3
    assert found.commit_id == graph.query(ALL).commit_id
    lines = [json.loads(line) for line in found.ndjson_lines()]
    assert [line["name"] for line in lines] == ["ada", "bo", "cy"]
    assert lines[1]["age"] is None


def test_a_stream_of_many_rows_comes_in_several_batches(tmp_path: Path) -> None:
    people = pa.table({"name": [f"p{place:05d}" for place in range(40_000)]})
    with omnigraph.init(tmp_path / "g.omni", SCHEMA, durability="process") as graph:
        graph.load({"Person": people}, mode="append")
        batches = list(graph.stream(ALL))
    assert len(batches) > 1
    assert sum(batch.num_rows for batch in batches) == 40_000
    assert batches[0].column("name")[0].as_py() == "p00000"


@pytest.mark.parametrize("kept_bytes", [1 << 30, 1_000])
def test_a_stream_may_be_larger_than_the_memory_of_its_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept_bytes: int
) -> None:
    """Its values pass by, also where nothing can be kept between queries."""
    schema = "node Doc {\n    slug: String @key\n    body: String?\n    n: I64\n}"
    rows = pa.table(
        {
            "slug": [f"d{place:05d}" for place in range(9_000)],
            "body": [f"{place:0900d}" if place % 7 else None for place in range(9_000)],
            "n": list(range(9_000)),
        }
    )
    monkeypatch.setattr(output, "_BATCH_ROWS", 500)
    text = "query q() { match { $d: Doc } return { $d.body as body, $d.n as n } }"
    cache = ByteCache(kept_bytes)
    for module in (execute, prepared):
        monkeypatch.setattr(module, "shared_cache", lambda: cache)
    with omnigraph.init(tmp_path / "g.omni", schema, durability="process") as graph:
        graph.load({"Doc": rows}, mode="append")
        small = Budget(memory_bytes=4 << 20)
        with pytest.raises(LimitExceeded):
            graph.query(text, budget=small)
        found = pa.Table.from_batches(list(graph.stream(text, budget=small)))
    assert found.equals(rows.select(["body", "n"]).cast(found.schema))


def test_explain_needs_no_parameters_and_reads_nothing(graph: EmbeddedGraph) -> None:
    told = graph.explain(FRIENDS)
    assert "Expand p -[Knows]-> q from p" in str(told)
    assert told.to_json()["query_name"] == "friends"


def test_a_profile_tells_what_was_in_memory_before_it_ran(graph: EmbeddedGraph) -> None:
    shared_cache().clear()
    told = [str(graph.profile(FRIENDS, {"n": "ada"}, traversal="csr")) for _ in range(2)]
    assert "topology: to be built" in told[0]
    assert "topology: in memory" in told[1]


def test_a_profile_has_the_rows_and_times_of_every_step(graph: EmbeddedGraph) -> None:
    found = graph.profile(FRIENDS, {"n": "ada"})
    assert found.result is not None
    assert names(found.result) == ["bo", "cy"]
    body = found.to_json()
    assert body["row_count"] == 2
    node = body["plan"]
    while True:
        assert node["measured"]["seconds"] >= 0
        if "inputs" not in node:
            break
        (node,) = node["inputs"]
    assert node["operator"] == "Scan"
    assert node["measured"]["rows"] == 1


class RushingClock:
    """A clock on which a second passes whenever somebody looks."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now_micros(self) -> int:
        return int(self.seconds * 1_000_000)

    def monotonic(self) -> float:
        self.seconds += 1.0
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


NESTED = (
    "query nested() { match { $p0: Person "
    + "".join(f"not {{ $p{i} knows $p{i + 1} " for i in range(20))
    + "} " * 20
    + "} return { $p0.name as name } }"
)


@pytest.mark.parametrize("verb", ["query", "stream", "profile"])
def test_a_deadline_ends_a_query_that_is_still_being_planned(
    graph: EmbeddedGraph, verb: str
) -> None:
    budget = Budget(seconds=50.0, clock=RushingClock())
    with pytest.raises(LimitExceeded) as caught:
        getattr(graph, verb)(NESTED, budget=budget)
    assert caught.value.code == "query.time_limit"
    assert not graph.operations.list()
    # The abandoned compilation leaves nothing behind that a later call would trip over.
    assert [row["name"] for row in graph.query(NESTED).rows()] == ["bo", "cy"]


def test_a_query_of_any_depth_that_can_be_written_is_answered(graph: EmbeddedGraph) -> None:
    chain = " ".join(f"$p{i} knows $p{i + 1}" for i in range(99))
    text = f"query far() {{ match {{ $p0: Person {chain} }} return {{ $p0.name as name }} }}"
    assert graph.query(text).rows() == []
    assert graph.profile(text).result is not None
    assert str(graph.explain(text)).count(" from ") == 99
