"""Projection, order, pages, groups and types of the answer."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.errors import InvalidInput, LimitExceeded
from omnigraph.ir.expressions import EntityRef
from omnigraph.ir.queries import Projection


@pytest.fixture
def world(worlds: Any) -> Any:
    people = worlds.entities(
        "handle",
        {"handle": "ada", "age": 36, "status": "active"},
        {"handle": "bo", "age": None, "status": "active"},
        {"handle": "cy", "age": 7, "status": "retired"},
        {"handle": "dee", "age": 36, "status": None},
    )
    return worlds(Person=people, Knows=worlds.edges("ada-bo", "ada-cy", "cy-dee"))


ALL = "match { $p: Person }"


# --- order -------------------------------------------------------------------------------------


def test_without_an_order_rows_come_by_id(world: Any) -> None:
    assert world.column(f"{ALL} return {{ $p.handle }}") == ["ada", "bo", "cy", "dee"]


def test_nulls_sort_first_ascending_and_last_descending(world: Any) -> None:
    up = f"{ALL} return {{ $p.handle }} order {{ $p.age }}"
    down = f"{ALL} return {{ $p.handle }} order {{ $p.age desc }}"
    assert world.column(up) == ["bo", "cy", "ada", "dee"]
    assert world.column(down) == ["ada", "dee", "cy", "bo"]


def test_ties_are_broken_by_ascending_ids_in_both_directions(world: Any) -> None:
    down = f"{ALL} return {{ $p.handle }} order {{ $p.age desc }} limit 2"
    assert world.column(down) == ["ada", "dee"]


def test_later_keys_decide_between_equals(world: Any) -> None:
    query = f"{ALL} return {{ $p.handle }} order {{ $p.age desc, $p.handle desc }}"
    assert world.column(query) == ["dee", "ada", "cy", "bo"]


def test_ties_of_several_variables_are_broken_in_the_order_of_their_appearance(world: Any) -> None:
    query = "match { $b: Person  $a knows $b } return { $a.handle as a, $b.handle as b }"
    assert world.rows(query) == [("ada", "bo"), ("ada", "cy"), ("cy", "dee")]
    query = "match { $a: Person  $b: Person } return { $a.handle as a, $b.handle as b } limit 5"
    assert [row[0] for row in world.rows(query)] == ["ada", "ada", "ada", "ada", "bo"]


def test_parallel_bound_edges_are_ordered_by_the_ids_of_the_edges(worlds: Any) -> None:
    knows = worlds.edges("ada-bo", "ada-bo", since=[9, 1])
    world = worlds.people("ada", "bo", Knows=knows[::-1])
    assert world.column("match { $a $k:knows $b } return { $k.since as s }") == [9, 1]


def test_an_order_may_use_what_is_not_returned_and_aliases(world: Any) -> None:
    query = f"{ALL} return {{ $p.handle as h, $p.age as years }} order {{ years, h desc }}"
    assert [row[0] for row in world.rows(query)] == ["bo", "cy", "dee", "ada"]


# --- pages -------------------------------------------------------------------------------------


def test_limit_and_offset_cut_a_page_out_of_the_order(world: Any) -> None:
    query = f"{ALL} return {{ $p.handle }} limit $n offset $skip"
    for n, skip, page in [
        (2, 0, ["ada", "bo"]),
        (2, 2, ["cy", "dee"]),
        (9, 3, ["dee"]),
        (2, 9, []),
        (0, 0, []),
    ]:
        assert world.column(query, "$n: I64, $skip: I64", n=n, skip=skip) == page


@pytest.mark.parametrize(("n", "skip", "clause"), [(-1, 0, "limit"), (1, -1, "offset")])
def test_negative_counts_are_refused(world: Any, n: int, skip: int, clause: str) -> None:
    query = f"{ALL} return {{ $p.handle }} limit $n offset $skip"
    with pytest.raises(InvalidInput) as caught:
        world.run(query, "$n: I64, $skip: I64", n=n, skip=skip)
    assert caught.value.code == f"query.negative_{clause}"


# --- distinct ----------------------------------------------------------------------------------


def test_distinct_keeps_one_of_equal_rows_and_null_equals_null(world: Any) -> None:
    assert world.column(f"{ALL} return {{ $p.status }}") == ["active", "active", "retired", None]
    assert world.column(f"{ALL} return distinct {{ $p.status }}") == [None, "active", "retired"]


def test_distinct_rows_are_counted_by_limit(world: Any) -> None:
    query = f"{ALL} return distinct {{ $p.status as s }} order {{ s desc }} limit 2"
    assert world.column(query) == ["retired", "active"]


def test_distinct_constants_of_no_rows_are_no_rows(worlds: Any) -> None:
    assert worlds().rows(f'{ALL} return distinct {{ "x" as x }}') == []


# --- aggregates --------------------------------------------------------------------------------


def test_groups_are_ordered_by_their_keys_where_nothing_else_is_said(world: Any) -> None:
    query = f"{ALL} return {{ $p.status as s, count(*) as n }}"
    assert world.rows(query) == [(None, 1), ("active", 2), ("retired", 1)]


def test_groups_with_equal_order_keys_are_ordered_by_their_keys(world: Any) -> None:
    query = f"{ALL} return {{ $p.status as s, count(*) as n }} order {{ n desc }}"
    assert world.rows(query) == [("active", 2), (None, 1), ("retired", 1)]


def test_aggregates_skip_nulls_and_count_star_does_not(world: Any) -> None:
    query = f"""{ALL} return {{
        count(*) as rows, count($p) as people, count($p.age) as ages,
        count(distinct $p.age) as kinds, sum($p.age) as total, avg($p.age) as mean,
        min($p.age) as low, max($p.age) as high
    }}"""
    assert world.rows(query) == [(4, 4, 3, 2, 79, 79 / 3, 7, 36)]


def test_aggregates_of_nothing_are_one_row(worlds: Any) -> None:
    query = f"{ALL} return {{ count(*) as n, sum($p.age) as total }}"
    assert worlds().rows(query) == [(0, None)]


def test_a_constant_beside_an_aggregate_is_no_group_key(worlds: Any) -> None:
    assert worlds().rows(f'{ALL} return {{ "people" as label, count(*) as n }}') == [("people", 0)]


def test_groups_of_nothing_are_no_rows(worlds: Any) -> None:
    assert worlds().rows(f"{ALL} return {{ $p.status as s, count(*) as n }}") == []


def test_a_whole_entity_may_be_a_group_key(world: Any) -> None:
    query = "match { $a knows $b } return { $a, count($b) as n } order { n desc }"
    assert [(row[0]["handle"], row[1]) for row in world.rows(query)] == [("ada", 2), ("cy", 1)]


def test_aggregates_count_rows_of_the_pattern_and_distinct_counts_entities(world: Any) -> None:
    query = "match { $a knows $b } return { count($a) as rows, count(distinct $a) as people }"
    assert world.rows(query) == [(3, 2)]


def test_a_sum_that_does_not_fit_is_refused(worlds: Any) -> None:
    people = worlds.entities("handle", {"handle": "a", "age": 2**63 - 1}, {"handle": "b", "age": 1})
    with pytest.raises(LimitExceeded) as caught:
        worlds(Person=people).run(f"{ALL} return {{ sum($p.age) as total }}")
    assert caught.value.code == "query.sum_overflow"


# --- values and types --------------------------------------------------------------------------


def test_literals_parameters_and_now_are_columns(world: Any) -> None:
    query = 'match { $p: Person { handle: "ada" } } return { 1 as one, $x as x, now() as at }'
    rows = world.rows(query, "$x: String?", x=None)
    assert rows == [(1, None, dt.datetime(2026, 11, 1, 12, tzinfo=dt.UTC))]


def test_a_node_is_an_object_of_its_properties_without_blobs_and_vectors(worlds: Any) -> None:
    doc = {"slug": "d", "body": "text", "pages": 3, "vec": [1.0, 0.0], "photo": b"jpeg"}
    world = worlds(Doc=worlds.entities("slug", doc))
    result = world.run("match { $d: Doc } return { $d }")
    assert result.rows() == [{"d": {"id": "d", "slug": "d", "body": "text", "pages": 3}}]
    struct = result.to_arrow().schema.field("d").type
    assert [(field.name, field.type, field.nullable) for field in struct] == [
        ("id", pa.string(), False),
        ("slug", pa.string(), False),
        ("body", pa.string(), True),
        ("pages", pa.int32(), True),
    ]


def test_an_edge_is_an_object_with_its_ends(worlds: Any) -> None:
    wrote = [{"id": "w", "src": "ada", "dst": "d", "role": "editor", "draft": b"bytes"}]
    docs = worlds.entities("slug", {"slug": "d"})
    world = worlds.people("ada", Doc=docs, Wrote=wrote)
    ir = world.compile("match { $p $w:wrote $d } return { $w.role as w }")
    (bound,) = (slot for slot in ir.match.slots if slot.name == "w")
    whole = Projection("w", EntityRef(bound.slot, bound.type_id))
    result = world.evaluate(replace(ir, returns=(whole,)))
    assert result.rows() == [{"w": {"id": "w", "from": "ada", "to": "d", "role": "editor"}}]


def test_a_vector_is_read_when_it_is_named(worlds: Any) -> None:
    world = worlds(Doc=worlds.entities("slug", {"slug": "d", "vec": [1.0, 0.5]}))
    result = world.run("match { $d: Doc } return { $d.vec }")
    assert result.rows() == [{"d.vec": [1.0, 0.5]}]
    assert result.to_arrow().schema.field(0).type == pa.list_(pa.float32(), 2)


def test_columns_have_the_types_of_the_schema_even_without_rows(worlds: Any) -> None:
    query = """match { $p: Person  $p lives $c } return {
        $p.handle as handle, $p.age as age, $p.height as height, $p.born as born,
        $p.seen as seen, $p.status as status, $p.tags as tags, $c.people as people
    }"""
    schema = worlds().run(query).to_arrow().schema
    assert schema.names == ["handle", "age", "height", "born", "seen", "status", "tags", "people"]
    assert schema.types == [
        pa.string(),
        pa.int64(),
        pa.float32(),
        pa.date32(),
        pa.timestamp("us", tz="UTC"),
        pa.string(),
        pa.list_(pa.string()),
        pa.uint64(),
    ]
    assert [schema.field(name).nullable for name in ("handle", "age")] == [False, True]


def test_values_come_back_as_they_were_stored(worlds: Any) -> None:
    ada = {
        "handle": "ada",
        "height": 1.5,
        "born": dt.date(1990, 5, 1),
        "seen": dt.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=dt.UTC),
        "tags": ["x", "y"],
    }
    world = worlds(Person=worlds.entities("handle", ada))
    result = world.run(f"{ALL} return {{ $p }}")
    (row,) = result.rows()
    assert {name: row["p"][name] for name in ada} == ada
    assert row["p"]["age"] is None


def test_the_result_carries_its_name_and_columns(world: Any) -> None:
    result = world.run(f"{ALL} return {{ $p.age as age, count(*) as n }}")
    assert result.query_name == "q"
    assert [(column.name, column.kind) for column in result.columns] == [
        ("age", "bigint"),
        ("n", "bigint"),
    ]
    assert result.commit_id is None
