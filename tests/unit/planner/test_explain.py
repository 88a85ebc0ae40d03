"""Plans as people and programs see them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from omnigraph.api.queries import ExplainedOperator, render
from omnigraph.planner.access import AccessChoice
from omnigraph.planner.explain import explain, with_measures
from omnigraph.planner.plan import Access

# The fixture of conftest.
Planning = Any


class Nothing:
    """A memory that holds nothing, and indexes on ids only."""

    budget_bytes = 0

    def has_column(self, type_id: str, prop: str) -> bool:
        return False

    def has_ids(self, type_id: str) -> bool:
        return False

    def has_topology(self, edge_type: str) -> bool:
        return False

    def __init__(self, *indexed: str) -> None:
        self._indexed = {"@id", *indexed}

    def has_index(self, type_id: str, prop: str) -> bool:
        return prop in self._indexed

    def spent(self, type_id: str) -> float:
        return 0.0

    def how_searched(self, type_id: str, expr: Any, *, of_all: bool) -> str:
        return "the best of all" if of_all else "as a test says"


QUERY = """match {
    $p: Person { handle: $h }
    $p knows $q
    $q.age > 30
    not { $q wrote $d  $d.title contains "graph" }
} return { $q.handle, $q.city } order { $q.age desc } limit 5"""


def told(
    planning: Planning, access: Access, body: str = QUERY, params: str = "$h: String"
) -> ExplainedOperator:
    plan = planning.plan(body, params)
    return explain(plan, planning.facts(), AccessChoice(access, "a test"), Nothing())


def test_the_tree_shows_every_operator_with_what_it_does(planning: Planning) -> None:
    text = render(told(planning, Access.LOOKED_UP))
    for expected in (
        "Return q.handle, q.city",
        "access: lookups",
        "mode: indexed",
        "because: a test",
        "Limit 5",
        "Sort q.age desc, p.id, q.id, the first 5",
        "SemiJoin rows that have no match of q",
        "Filter q.age > 30",
        "Expand p -[Knows]-> q from p",
        "Scan p: Person by id $h",
        "index: on id",
        "index: none on src",
        'd.title contains "graph"',
    ):
        assert expected in text, text


def test_a_product_shows_its_components_and_their_counts(planning: Planning) -> None:
    body = (
        "match { $p: Person  $p knows $q  $d: Paper } return { count(*) as n, avg($d.pages) as m }"
    )
    explained = told(planning, Access.RESIDENT, body, "")
    text = render(explained)
    for expected in (
        "Product (p, q) x (d)   (~200,000,000 rows)",
        "factorised: p, q: ~200,000 rows, d: ~1,000 rows",
        "keeps: nothing",
    ):
        assert expected in text, text
    (group,) = explained.inputs
    (product,) = group.inputs
    assert product.to_json()["factorised"] == ["p, q: ~200,000 rows", "d: ~1,000 rows"]
    assert "counts: from the pin" in render(
        told(planning, Access.LOOKED_UP, body.replace(", avg($d.pages) as m", ""), "")
    )


def test_filters_that_a_table_takes_are_told_from_those_that_it_does_not(
    planning: Planning,
) -> None:
    body = 'match { $p: Person  $p.city = "Bern"  $p.age != $p.height } return { $p.handle }'
    scan = told(planning, Access.LOOKED_UP, body, "")
    while scan.inputs:
        (scan,) = scan.inputs
    assert scan.notes["pushed"] == ['p.city = "Bern"']
    assert scan.notes["tested here"] == ["p.age != p.height"]
    assert scan.notes["index"] == "none on city"


def test_in_memory_no_index_of_the_table_is_needed(planning: Planning) -> None:
    text = render(told(planning, Access.RESIDENT))
    assert "ids in memory" in text
    assert "topology: to be built" in text


def test_the_json_has_the_same_tree(planning: Planning) -> None:
    body = told(planning, Access.RESIDENT).to_json()
    assert json.loads(json.dumps(body)) == body
    assert body["operator"] == "Return"
    assert body["inputs"][0]["operator"] == "Limit"
    assert body["inputs"][0]["estimated_rows"] <= 5


def test_measurements_stand_beside_the_estimates(planning: Planning) -> None:
    plan = planning.plan("match { $p: Person } return { count(*) as n }")
    measured = {"runs": 2, "rows": 1, "seconds": 0.0015, "bytes": 2048}
    told = explain(plan, planning.facts(), AccessChoice(Access.RESIDENT, "x"), Nothing())
    text = render(with_measures(told, plan.root, lambda _: measured))
    assert "1 rows in 2 runs, expected ~1; 1.500 ms; 2 KB" in text


def test_a_plan_without_hops_says_nothing_of_how_edges_are_followed(planning: Planning) -> None:
    text = render(
        told(planning, Access.RESIDENT, "match { $p: Person { handle: $h } } return { $p.age }")
    )
    assert "access: memory" in text
    assert "csr" not in text


def test_a_search_tells_its_index_or_why_it_has_none(planning: Planning) -> None:
    body = """match { $d: Paper  search($d.title, $h) } return { $d.title }
        order { bm25($d.title, $h) } limit 3"""
    text = render(told(planning, Access.RESIDENT, body))
    assert "search: bm25(d.title, $h): as a test says" in text
    assert "search: search(d.title, $h): as a test says" in text


def test_contains_is_not_said_to_use_an_order_of_texts(planning: Planning) -> None:
    body = 'match { $p: Person  $p.city contains "er" } return { $p.handle }'
    scan = told(planning, Access.LOOKED_UP, body, "")
    while scan.inputs:
        (scan,) = scan.inputs
    assert scan.notes["index"] == "none: all rows are read"


ALTERNATIVES = '$p.city = "Bern" or $p.age > 30'


@pytest.mark.parametrize(
    ("condition", "indexed", "expected"),
    [
        (ALTERNATIVES, ("city", "age"), "on city, age"),
        (ALTERNATIVES, ("city",), "none on age"),
        ('$p.city = "Bern"  $p.age > 30', ("city",), "on city"),
        (f"not ({ALTERNATIVES})", ("city",), "on city"),
        ('$p.city starts_with "B"', ("city",), "on city"),
        ('not ($p.city starts_with "B")', ("city",), "none: all rows are read"),
        ('$p.city contains "B" or $p.age > 30', ("city", "age"), "none: all rows are read"),
    ],
)
def test_an_index_is_told_only_where_a_scan_asks_it(
    planning: Planning, condition: str, indexed: tuple[str, ...], expected: str
) -> None:
    plan = planning.plan(f"match {{ $p: Person  {condition} }} return {{ $p.handle }}", "")
    (person,) = (each for each in planning.facts().catalog.nodes if each.name == "Person")
    memory = Nothing(*(prop.id for prop in person.properties if prop.name in indexed))
    scan = explain(plan, planning.facts(), AccessChoice(Access.LOOKED_UP, "a test"), memory)
    while scan.inputs:
        (scan,) = scan.inputs
    assert scan.notes["index"] == expected


@pytest.mark.parametrize(
    ("match", "order", "expected"),
    [
        ("$d: Paper", "bm25($d.title, $h)", "the best of all"),
        ("$d: Paper", "bm25($d.title, $h) asc", "as a test says"),
        ('$d: Paper  $d.title != "x"', "bm25($d.title, $h)", "as a test says"),
        ("$p wrote $d", "bm25($d.title, $h)", "as a test says"),
    ],
)
def test_the_best_of_all_rows_are_told_from_those_of_some(
    planning: Planning, match: str, order: str, expected: str
) -> None:
    body = f"match {{ {match} }} return {{ $d.title }} order {{ {order} }} limit 3"
    assert f"bm25(d.title, $h): {expected}" in render(told(planning, Access.RESIDENT, body))


def expands(explained: ExplainedOperator) -> list[ExplainedOperator]:
    """The operators that follow edges, from the top."""
    own = [explained] if explained.operator in {"Expand", "EdgeEnds"} else []
    return own + [found for below in explained.inputs for found in expands(below)]


@pytest.mark.parametrize(
    ("line", "direction"),
    [
        ("$p wrote $d", "Person -> Paper, as written"),
        ("$d wrote $p", "Person -> Paper, by the types of its ends; written in reverse"),
        ("$d $w:wrote $p", "Person -> Paper, by the types of its ends; written in reverse"),
        ("$q knows $p", "Person -> Person, as written"),
        ("$p <knows> $q", "Person - Person, either way"),
    ],
)
@pytest.mark.parametrize("access", list(Access))
def test_a_hop_shows_its_direction_and_how_it_was_chosen(
    planning: Planning, access: Access, line: str, direction: str
) -> None:
    body = f"match {{ $p: Person  {line} }} return {{ $p.handle }}"
    explained = told(planning, access, body, "")
    (hop,) = expands(explained)
    assert hop.to_json()["direction"] == direction
    assert f"direction: {direction}" in render(explained)


def test_bounds_are_named_as_distances(planning: Planning) -> None:
    body = "match { $p: Person { handle: $h }  $p knows{2,3} $q } return { $q.handle }"
    explained = told(planning, Access.RESIDENT, body)
    (hop,) = expands(explained)
    meaning = "2 to 3, by distance: each destination once per source, at its shortest depth"
    assert hop.to_json()["hops"] == meaning
    assert f"hops: {meaning}" in render(explained)


def test_a_single_hop_has_no_bounds_to_explain(planning: Planning) -> None:
    (knows, _) = expands(told(planning, Access.RESIDENT))
    assert "hops" not in knows.to_json()
