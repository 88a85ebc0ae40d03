"""What each pass makes of a plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from omnigraph.datatypes.types import BOOL, STRING, Scalar, ScalarType
from omnigraph.errors import InvariantBroken
from omnigraph.ir.expressions import Compare, CompareOp, Const, IsNull, PropertyRef, Slot
from omnigraph.ir.queries import EntitySlot, OrderKey, Projection, ReadIR, ResultColumn
from omnigraph.planner import plan_read
from omnigraph.planner.plan import (
    EdgeEnds,
    Expand,
    Filter,
    Group,
    Join,
    Limit,
    MetadataCount,
    Project,
    Scan,
    SemiJoin,
    Sort,
    Values,
    walk,
)

# The fixture of conftest.
Planning = Any


def kinds(nodes: list[object]) -> list[str]:
    return [type(node).__name__ for node in nodes]


# --- literals and keys -------------------------------------------------------------------------


def test_an_integer_is_never_equal_to_a_fraction(planning: Planning) -> None:
    nodes = planning.nodes("match { $p: Person  $p.age = 2.5 } return { $p.handle }")
    assert any(
        isinstance(node, Filter) and node.conditions[0] == Const(False, BOOL) for node in nodes
    )


def test_an_integer_below_a_number_that_its_type_cannot_reach_is_any_integer(
    planning: Planning,
) -> None:
    (scan,) = scans(
        planning.nodes("match { $p: Person  $p.age < 3000000000.0 } return { $p.handle }")
    )
    (condition,) = scan.filters
    assert isinstance(condition, IsNull)
    assert condition.negated


def test_an_integer_below_a_fraction_is_below_the_next_integer(planning: Planning) -> None:
    (scan,) = scans(planning.nodes("match { $p: Person  $p.age < 2.5 } return { $p.handle }"))
    (condition,) = scan.filters
    assert isinstance(condition, Compare)
    assert (condition.op, condition.right) == (CompareOp.LT, Const(3, ScalarType(Scalar.I32)))


def test_a_key_that_is_a_string_is_the_way_into_the_table(planning: Planning) -> None:
    (scan,) = scans(
        planning.nodes("match { $p: Person { handle: $h } } return { $p.age }", "$h: String")
    )
    assert scan.ids is not None
    assert scan.filters == ()
    assert scan.rows == pytest.approx(1)


def test_other_conditions_are_tested_by_the_scan_that_finds_the_key(planning: Planning) -> None:
    (scan,) = scans(
        planning.nodes('match { $p: Person { handle: "a", city: "Bern" } } return { $p.age }')
    )
    assert scan.ids == Const("a", STRING)
    assert len(scan.filters) == 1


def test_a_list_of_keys_is_a_way_into_the_table_too(planning: Planning) -> None:
    (scan,) = scans(
        planning.nodes(
            "match { $p: Person  $p.handle in $many } return { $p.age }", "$many: [String]"
        )
    )
    assert scan.ids is not None


def test_an_order_of_keys_is_no_equality(planning: Planning) -> None:
    (scan,) = scans(planning.nodes('match { $p: Person  $p.handle > "m" } return { $p.age }'))
    assert scan.ids is None
    (condition,) = scan.filters
    assert isinstance(condition, Compare)
    assert isinstance(condition.left, PropertyRef)
    assert condition.left.prop != "@id"


# --- order and direction -----------------------------------------------------------------------


def test_a_pattern_starts_where_the_fewest_rows_are(planning: Planning) -> None:
    nodes = planning.nodes(
        "match { $p wrote $d  $d: Paper { doi: $x } } return { $p.handle }", "$x: String"
    )
    (scan,) = scans(nodes)
    assert scan.slot.name == "d"
    (hop,) = expands(nodes)
    assert not hop.forward


def test_two_hops_are_followed_from_the_selective_end(planning: Planning) -> None:
    nodes = planning.nodes(
        "match { $a knows $b  $b knows $c  $c.handle = $h } return { $a.handle }", "$h: String"
    )
    assert [hop.forward for hop in expands(nodes)] == [False, False]
    assert scans(nodes)[0].slot.name == "c"


def test_a_hop_between_bound_slots_only_tests_them(planning: Planning) -> None:
    nodes = planning.nodes(
        'match { $a: Person { handle: "x" }  $a knows $b  $b knows $a } return { $b.handle }'
    )
    assert sorted(hop.closes for hop in expands(nodes)) == [False, True]


def test_an_edge_with_a_selective_condition_is_where_the_pattern_starts(planning: Planning) -> None:
    rows = {"Person": 100_000, "Knows": 100}
    nodes = planning.nodes(
        "match { $a $k:knows $b  $k.since = 7 } return { $a.handle, $b.handle }", rows=rows
    )
    assert scans(nodes)[0].slot.name == "k"
    assert any(isinstance(node, EdgeEnds) for node in nodes)


def test_parts_that_share_nothing_are_joined(planning: Planning) -> None:
    nodes = planning.nodes(
        "match { $p: Person  $d: Paper  $p.city = $d.title } return { $p.handle, $d.doi }"
    )
    (join,) = [node for node in nodes if isinstance(node, Join)]
    assert len(join.equal) == 1
    assert not any(isinstance(node, Filter) for node in nodes)


def test_a_condition_that_no_join_can_use_is_tested_after_it(planning: Planning) -> None:
    nodes = planning.nodes(
        "match { $p: Person  $d: Paper  $p.age < $d.pages } return { $p.handle, $d.doi }"
    )
    assert kinds(nodes)[:3] == ["Sort", "Filter", "Join"]


def test_a_plan_depends_on_what_the_tables_hold(planning: Planning) -> None:
    query = "match { $p wrote $d } return { $p.handle, $d.doi }"
    few_people = planning.nodes(query, rows={"Person": 2, "Paper": 10_000, "Wrote": 10})
    few_papers = planning.nodes(query, rows={"Person": 10_000, "Paper": 2, "Wrote": 10})
    assert scans(few_people)[0].slot.name == "p"
    assert scans(few_papers)[0].slot.name == "d"


# --- independent components ---------------------------------------------------------------------


def test_aggregates_keep_independent_components_apart(planning: Planning) -> None:
    nodes = planning.nodes(
        "match { $p: Person  $p knows $q  $d: Paper } return { $d.title, count($q) as n }"
    )
    assert kinds(nodes) == ["Sort", "Group", "Product", "Expand", "Scan", "Scan"]
    # The hop is reduced to a sum of degrees.
    assert [hop.keeps for hop in expands(nodes)] == [()]


def test_a_component_that_is_only_counted_is_not_scanned(planning: Planning) -> None:
    nodes = planning.nodes("match { $p: Person  $d: Paper } return { count(*) as n }")
    assert kinds(nodes) == ["Group", "Product", "Scan", "Scan"]
    assert all(scan.counted for scan in scans(nodes))


def test_a_component_whose_rows_do_not_matter_is_reduced_to_its_existence(
    planning: Planning,
) -> None:
    nodes = planning.nodes(
        "match { $p: Person  $d: Paper  $d.pages > 3 } return { max($p.age) as n }"
    )
    (keep,) = [node for node in nodes if isinstance(node, Project)]
    assert keep.slots == ()
    assert keep.distinct


def test_the_mean_of_one_component_needs_no_count_of_the_others(planning: Planning) -> None:
    body = "match {{ $p: Person  $d wrote $e  $d.age > 3 }} return {{ {0}($p.age) as n }}"
    (hop,) = expands(planning.nodes(body.format("avg")))
    assert hop.distinct
    (hop,) = expands(planning.nodes(body.format("sum")))
    assert not hop.distinct


@pytest.mark.parametrize(
    "body",
    [
        "match { $p: Person  $d: Paper  $p.age > $d.pages } return { count(*) as n }",
        "match { $p: Person  $d: Paper  $p.city = $d.title } return { count(*) as n }",
        "match { $p: Person  $d: Paper  $p wrote $d } return { count(*) as n }",
        "match { $p: Person  $d: Paper  not { $p wrote $d } } return { count(*) as n }",
        "match { $p: Person  $d: Paper } return { $p.handle, $d.doi }",
    ],
)
def test_linked_components_and_rows_without_aggregates_are_joined(
    planning: Planning, body: str
) -> None:
    assert "Product" not in kinds(planning.nodes(body))


# --- blocks ------------------------------------------------------------------------------------


def test_exists_is_a_semi_join_and_not_an_anti_join(planning: Planning) -> None:
    nodes = planning.nodes(
        "match { $p: Person  exists { $p wrote $d }  not { $p knows $q } } return { $p.handle }"
    )
    assert sorted(node.anti for node in nodes if isinstance(node, SemiJoin)) == [False, True]


def test_an_inner_block_starts_from_the_rows_around_it_when_they_are_few(
    planning: Planning,
) -> None:
    nodes = planning.nodes(
        'match { $p: Person { handle: "a" }  exists { $p wrote $d } } return { $p.handle }'
    )
    (given,) = [node for node in nodes if isinstance(node, Values)]
    assert len(given.slots) == 1


def test_an_inner_block_starts_by_itself_when_that_is_less(planning: Planning) -> None:
    nodes = planning.nodes(
        'match { $p: Person  exists { $p wrote $d  $d.doi = "x" } } return { $p.handle }'
    )
    assert not [node for node in nodes if isinstance(node, Values)]
    assert {scan.slot.name for scan in scans(nodes)} == {"p", "d"}


def test_a_count_that_is_compared_is_computed_before_the_comparison(planning: Planning) -> None:
    nodes = planning.nodes("match { $p: Person  count { $p wrote $d } > 3 } return { $p.handle }")
    places = kinds(nodes)
    assert places.index("Filter") < places.index("Apply")


def counting(planning: Planning, *, ordered: bool) -> ReadIR:
    """The language counts in ``match`` only; the IR may show a count as well."""
    ir = planning.compile(
        "match { $p: Person  count { $p wrote $d } >= 0 } return { $p.handle } limit 3"
    )
    (condition,) = ir.match.filters
    assert isinstance(condition, Compare)
    counted: ReadIR = replace(
        ir,
        match=replace(ir.match, filters=()),
        returns=(*ir.returns, Projection("n", condition.left)),
        order=(OrderKey(condition.left, descending=True),) if ordered else (),
        columns=(*ir.columns, ResultColumn("n", "bigint", nullable=False)),
    )
    return counted


def test_a_count_that_is_only_shown_is_computed_for_the_page(planning: Planning) -> None:
    plan = plan_read(counting(planning, ordered=False), planning.facts())
    assert kinds(list(walk(plan.root)))[1:4] == ["Apply", "Limit", "Sort"]


def test_a_count_that_orders_is_computed_before_the_sort(planning: Planning) -> None:
    plan = plan_read(counting(planning, ordered=True), planning.facts())
    assert kinds(list(walk(plan.root)))[1:4] == ["Limit", "Sort", "Apply"]


# --- fewer rows --------------------------------------------------------------------------------


def test_walks_become_sets_of_nodes_where_only_the_last_node_counts(planning: Planning) -> None:
    nodes = planning.nodes(
        'match { $a: Person { handle: "x" }  $a knows $b  $b knows $c } '
        "return { count(distinct $c) as n }"
    )
    assert [(len(hop.keeps or ()), hop.distinct) for hop in expands(nodes)] == [
        (1, True),
        (1, True),
    ]
    (group,) = [node for node in nodes if isinstance(node, Group)]
    assert group.counts_rows


def test_walks_stay_walks_where_they_are_counted(planning: Planning) -> None:
    nodes = planning.nodes(
        'match { $a: Person { handle: "x" }  $a knows $b  $b knows $c } return { count(*) as n }'
    )
    assert not any(hop.distinct for hop in expands(nodes))


def test_rows_keep_all_slots_because_ties_are_broken_by_all_ids(planning: Planning) -> None:
    nodes = planning.nodes(
        'match { $a: Person { handle: "x" }  $a knows $b  $b knows $c } return { $c.handle }'
    )
    assert all(hop.keeps is None for hop in expands(nodes))
    (sort,) = [node for node in nodes if isinstance(node, Sort)]
    assert len(sort.ties) == 3


def test_exists_needs_each_row_around_it_once(planning: Planning) -> None:
    nodes = planning.nodes(
        """match { $p: Person { handle: "x" }  exists { $p knows $q  $q wrote $d } }
        return { $p.age }"""
    )
    assert all(hop.distinct or hop.keeps is None for hop in expands(nodes))
    assert any(hop.distinct for hop in expands(nodes))


def test_what_only_a_condition_needed_is_dropped_after_it(planning: Planning) -> None:
    nodes = planning.nodes(
        """match { $p: Person { handle: "x" }  $p knows $q  $q.age > $p.age  $q wrote $d }
        return distinct { $d.title }"""
    )
    assert any(isinstance(node, Project) for node in nodes)


@pytest.mark.parametrize("counted", ["*", "$p", "distinct $p"])
def test_all_entities_of_a_type_are_counted_by_the_pin(planning: Planning, counted: str) -> None:
    nodes = planning.nodes(f"match {{ $p: Person }} return {{ count({counted}) as n }}")
    assert kinds(nodes) == ["MetadataCount"]
    assert isinstance(nodes[0], MetadataCount)


@pytest.mark.parametrize("counted", ["$p.age", "distinct $p.city"])
def test_values_are_counted_by_looking_at_them(planning: Planning, counted: str) -> None:
    nodes = planning.nodes(f"match {{ $p: Person }} return {{ count({counted}) as n }}")
    assert not any(isinstance(node, MetadataCount) for node in nodes)


def test_a_page_tells_the_sort_how_many_rows_it_shows(planning: Planning) -> None:
    nodes = planning.nodes(
        "match { $p: Person } return { $p.handle } order { $p.age } limit 10 offset $skip",
        "$skip: I64",
    )
    (sort,) = [node for node in nodes if isinstance(node, Sort)]
    assert sort.top is not None
    assert len(sort.top) == 2
    assert sort.rows == 10


def test_one_row_is_not_sorted_and_everything_is_no_page(planning: Planning) -> None:
    nodes = planning.nodes("match { $p: Person  $p.age > 3 } return { count(*) as n }")
    assert not any(isinstance(node, Sort | Limit) for node in nodes)


# --- columns -----------------------------------------------------------------------------------


def names(planning: Planning, type_name: str, props: tuple[str, ...]) -> set[str]:
    entity = planning.catalog.entity(type_name)
    return {entity.by_id[prop].name for prop in props}


def test_only_named_properties_are_read(planning: Planning) -> None:
    plan = planning.plan("match { $p: Person  $p.age > 3 } return { $p.city }")
    reading = plan.readings[planning.id_of("Person")]
    assert names(planning, "Person", (*reading.early, *reading.late)) == {"age", "city"}


def test_what_is_only_shown_is_read_late_when_few_rows_are_shown(planning: Planning) -> None:
    plan = planning.plan("match { $p: Person } return { $p.city } order { $p.age } limit 5")
    reading = plan.readings[planning.id_of("Person")]
    assert names(planning, "Person", reading.early) == {"age"}
    assert names(planning, "Person", reading.late) == {"city"}


def test_one_entity_is_read_at_once(planning: Planning) -> None:
    plan = planning.plan('match { $p: Person { handle: "a" } } return { $p.city, $p.age }')
    reading = plan.readings[planning.id_of("Person")]
    assert names(planning, "Person", reading.early) == {"age", "city"}
    assert reading.late == ()


def test_a_whole_entity_has_neither_its_vectors_nor_its_blobs(planning: Planning) -> None:
    plan = planning.plan("match { $p: Person } return { $p }")
    reading = plan.readings[planning.id_of("Person")]
    read = names(planning, "Person", (*reading.early, *reading.late))
    assert read == {"id", "handle", "age", "height", "city", "status", "code"}


def test_an_entity_that_is_only_counted_has_no_columns(planning: Planning) -> None:
    plan = planning.plan("match { $p wrote $d } return { $d.doi, count(distinct $p) as n }")
    reading = plan.readings[planning.id_of("Person")]
    assert (*reading.early, *reading.late) == ()


# --- what cannot be ----------------------------------------------------------------------------


def test_a_filter_on_a_slot_that_nobody_introduces_is_a_bug(planning: Planning) -> None:
    ir = planning.compile("match { $p: Person  $p.age > 3 } return { count(*) as n }")
    broken = replace(
        ir, match=replace(ir.match, slots=(EntitySlot(Slot(99), planning.id_of("Person"), "x"),))
    )
    with pytest.raises((InvariantBroken, KeyError)):
        plan_read(broken, planning.facts())


def scans(nodes: list[object]) -> list[Scan]:
    return [node for node in nodes if isinstance(node, Scan)]


def expands(nodes: list[object]) -> list[Expand]:
    return [node for node in nodes if isinstance(node, Expand)]
