"""Where a plan takes its values from, by what is in memory and what loading would cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from omnigraph.planner.access import choose_access
from omnigraph.planner.plan import Access

# The fixture of conftest.
Planning = Any

LOOKUP = ("match { $p: Person { handle: $h } } return { $p.age }", "$h: String")
HOP = ("match { $p: Person { handle: $h }  $p knows $q } return { $q.age }", "$h: String")
ALL = ("match { $p: Person  $p.age > 3 } return { $p.city, count(*) as n }", "")
SMALL = {"Person": 1_000, "Knows": 5_000}
LARGE = {"Person": 1_000_000, "Knows": 20_000_000}


@dataclass
class FakeMemory:
    """Says what a test wants of the cache."""

    everything: bool = False
    indexed: bool = True
    budget_bytes: int = 10**10
    seconds: dict[str, float] = field(default_factory=dict)

    def has_column(self, type_id: str, prop: str) -> bool:
        return self.everything

    def has_ids(self, type_id: str) -> bool:
        return self.everything

    def has_topology(self, edge_type: str) -> bool:
        return self.everything

    def has_index(self, type_id: str, prop: str) -> bool:
        return self.indexed

    def spent(self, type_id: str) -> float:
        return self.seconds.get(type_id, 0.0)

    def how_searched(self, type_id: str, expr: Any, *, of_all: bool) -> str:
        return "as a test says"


def chosen(
    planning: Planning, query: tuple[str, str], rows: dict[str, int], memory: FakeMemory
) -> Access:
    plan = planning.plan(*query, rows)
    return choose_access(plan, planning.facts(rows), memory).access


def test_small_tables_are_loaded_at_once(planning: Planning) -> None:
    assert chosen(planning, HOP, SMALL, FakeMemory()) is Access.RESIDENT


def test_one_entity_of_a_large_table_is_looked_up(planning: Planning) -> None:
    assert chosen(planning, LOOKUP, LARGE, FakeMemory()) is Access.LOOKED_UP
    assert chosen(planning, HOP, LARGE, FakeMemory()) is Access.LOOKED_UP


def test_what_is_in_memory_is_used(planning: Planning) -> None:
    assert chosen(planning, HOP, LARGE, FakeMemory(everything=True)) is Access.RESIDENT


def test_a_query_that_reads_a_whole_table_loads_it(planning: Planning) -> None:
    assert chosen(planning, ALL, LARGE, FakeMemory()) is Access.RESIDENT


def test_lookups_that_have_cost_enough_make_a_table_worth_loading(planning: Planning) -> None:
    memory = FakeMemory(seconds={planning.id_of("Person"): 5.0})
    assert chosen(planning, LOOKUP, LARGE, memory) is Access.RESIDENT


def test_what_does_not_fit_is_never_loaded(planning: Planning) -> None:
    memory = FakeMemory(budget_bytes=1_000, seconds={planning.id_of("Person"): 100.0})
    assert chosen(planning, LOOKUP, LARGE, memory) is Access.LOOKED_UP


def test_whoever_asks_for_a_mode_gets_it(planning: Planning) -> None:
    plan, facts = planning.plan(*HOP, SMALL), planning.facts(SMALL)
    for mode in Access:
        assert choose_access(plan, facts, FakeMemory(), mode).access is mode


def test_a_choice_says_why(planning: Planning) -> None:
    plan, facts = planning.plan(*HOP, LARGE), planning.facts(LARGE)
    assert "loading" in choose_access(plan, facts, FakeMemory()).why


def test_a_plan_that_looks_for_nothing_does_not_claim_to_be_in_memory(planning: Planning) -> None:
    plan = planning.plan("match { $p: Person } return { count(*) as n }", "", LARGE)
    facts = planning.facts(LARGE)
    assert "nothing has to be found" in choose_access(plan, facts, FakeMemory()).why
    plan = planning.plan(*LOOKUP, LARGE)
    assert "in memory" in choose_access(plan, facts, FakeMemory(everything=True)).why
