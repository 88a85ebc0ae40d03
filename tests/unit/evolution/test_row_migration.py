"""Rows of one state of a type as rows of another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from omnigraph.catalog.build import build_catalog
from omnigraph.datatypes.arrow import table_schema
from omnigraph.errors import SchemaFailure
from omnigraph.evolution.backfill import parse_backfill
from omnigraph.evolution.row_migration import RowMigration, migrate_table
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog, EntityType

BEFORE = """
node Person {
    name: String @key
    age: I32?
    score: F32?
    visits: [I32]?
    mood: enum(good, bad)?
    old: String?
}
"""


def catalog(text: str, previous: Catalog | None = None) -> Catalog:
    source = Source(text, "s.pg")
    return build_catalog(parse_schema(source), source, previous=previous)


ACCEPTED = catalog(BEFORE)
PERSON = ACCEPTED.nodes[0]


def people(**columns: list[Any]) -> pa.Table:
    count = len(next(iter(columns.values())))
    columns = {
        "id": [str(n) for n in range(count)],
        "name": [str(n) for n in range(count)],
    } | columns
    schema = table_schema(PERSON)
    return pa.table(
        {field.name: columns.get(field.name, [None] * count) for field in schema}, schema=schema
    )


def migrated(text: str, rows: pa.Table, backfill: dict[str, Any] | None = None) -> pa.Table:
    desired = catalog(text, ACCEPTED)
    fills = parse_backfill(backfill or {}, ACCEPTED, desired).fills
    after = migrate_table(rows, PERSON, desired.nodes[0], fills)
    assert after.schema.equals(table_schema(desired.nodes[0]))
    return after


def test_the_same_schema_changes_nothing() -> None:
    rows = people(age=[1, None], old=["x", None])
    assert migrated(BEFORE, rows).equals(rows)


def test_values_follow_their_property_through_renames_and_wider_types() -> None:
    after = migrated(
        """node Human @rename_from("Person") {
            name: String @key
            years: I64? @rename_from("age")
            score: F64?
            visits: [F64]?
            mood: String?
        }""",
        people(age=[7, None], score=[0.5, None], visits=[[1, 2], None], mood=["good", None]),
    )
    assert after.to_pylist() == [
        {"id": "0", "name": "0", "age": 7, "score": 0.5, "visits": [1.0, 2.0], "mood": "good"},
        {"id": "1", "name": "1", "age": None, "score": None, "visits": None, "mood": None},
    ]


def test_a_new_property_is_null_unless_a_value_is_required() -> None:
    after = migrated(
        """node Person {
            name: String @key
            free: String? @default("never used for rows that exist")
            kind: enum(a, b) @default("b")
            since: Date @default("2024-02-03")
        }""",
        people(age=[7]),
    )
    [row] = after.to_pylist()
    assert (row["free"], row["kind"], str(row["since"])) == (None, "b", "2024-02-03")


@pytest.mark.parametrize(
    ("declared", "given", "expected"),
    [
        ("label: String", "name", ["0", "1"]),
        ("label: String", "id", ["0", "1"]),
        ("label: String?", "old", ["x", None]),
        ("label: String", '"all the same"', ["all the same"] * 2),
        ("label: I64?", "age", [7, None]),
        ("label: F64", "2", [2.0, 2.0]),
        ("label: Bool", True, [True, True]),
        ("label: [String]", '["a", "b"]', [["a", "b"]] * 2),
        ("label: [I64]?", "visits", [[1], None]),
        ("label: Vector(2)", [0.5, 1], [[0.5, 1.0]] * 2),
        ("label: DateTime", '"2024-02-03T04:05:06Z"', ["2024-02-03 04:05:06+00:00"] * 2),
        ("label: enum(x, y)", "old", ["x", None]),
    ],
)
def test_a_new_property_is_filled_from_an_expression(
    declared: str, given: Any, expected: list[Any]
) -> None:
    after = migrated(
        f"node Person {{ name: String @key  age: I32?  {declared} }}",
        people(age=[7, None], old=["x", None], visits=[[1], None]),
        {"Person.label": given},
    )
    found = after.column("label").to_pylist()
    assert [str(v) if "Date" in declared else v for v in found] == expected


@pytest.mark.parametrize(
    ("declared", "given", "expected"),
    [
        ("age: I32", "0", [7, 0]),
        ("age: I64", 5, [7, 5]),
        ("old: String", "name", ["x", "1"]),
        ("visits: [I32]", "[]", [[1], []]),
        ("visits: [I64]", "[3]", [[1], [3]]),
    ],
)
def test_nulls_of_a_property_that_becomes_required_are_filled(
    declared: str, given: Any, expected: list[Any]
) -> None:
    after = migrated(
        f"node Person {{ name: String @key  {declared} }}",
        people(age=[7, None], old=["x", None], visits=[[1], None]),
        {f"Person.{declared.partition(':')[0]}": given},
    )
    assert after.column(2).to_pylist() == expected


def test_values_that_might_not_survive_are_refused() -> None:
    narrower = catalog("node Person { name: String @key  age: String? }", ACCEPTED).nodes[0]
    with pytest.raises(SchemaFailure) as caught:
        migrate_table(people(age=[7]), PERSON, narrower)
    assert caught.value.code == "schema.type_change"


def test_edges_keep_their_ends() -> None:
    accepted = catalog("node N { name: String }\nedge E: N -> N { since: I32? }")
    desired = catalog(
        "node N { name: String }\nedge E: N -> N { since: I64  far: String }", accepted
    )
    before, after = accepted.edges[0], desired.edges[0]
    rows = pa.table({"id": ["e"], "src": ["a"], "dst": ["b"], "since": [3]}).cast(
        table_schema(before)
    )
    fills = parse_backfill({"E.far": "dst"}, accepted, desired).fills
    assert migrate_table(rows, before, after, fills).to_pylist() == [
        {"id": "e", "src": "a", "dst": "b", "since": 3, "far": "b"}
    ]


def test_only_what_changes_is_written() -> None:
    def written(text: str) -> list[str]:
        after: EntityType = catalog(text, ACCEPTED).nodes[0]
        return [prop.name for prop in RowMigration(PERSON, after, {}).written]

    assert written(BEFORE) == []
    assert written("node Person { name: String @key  age: I64?  new: String? }") == ["age"]
    assert written('node Person { name: String @key  new: String @default("x") }') == ["new"]
    assert written("node Person { name: String @key  mood: String? }") == [], "stored alike"
