"""What may be written as a backfill, and what is said of everything else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.catalog.build import build_catalog
from omnigraph.errors import SchemaFailure
from omnigraph.evolution.backfill import parse_backfill
from omnigraph.evolution.row_migration import CoalesceFill, ConcatFill, ConstantFill, CopyFill, Fill
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog


def catalog(text: str, previous: Catalog | None = None) -> Catalog:
    source = Source(text, "s.pg")
    return build_catalog(parse_schema(source), source, previous=previous)


ACCEPTED = catalog("node P { name: String  age: I64?  photo: Blob?  v: Vector(2)? }")
DESIRED = catalog(
    """node P {
        name: String
        age: I64
        small: I32?
        text: String?
        photo: Blob?
        photo2: Blob?
        v3: Vector(3)?
    }
    node New { name: String }""",
    ACCEPTED,
)


def fill_of(place: str, value: Any) -> Fill:
    [fill] = parse_backfill({place: value}, ACCEPTED, DESIRED).fills.values()
    return fill


def test_a_word_is_a_property_and_json_is_a_constant() -> None:
    assert fill_of("P.text", "name") == CopyFill(ACCEPTED.nodes[0].by_name["name"])
    assert fill_of("P.text", " name ") == fill_of("P.text", "name")
    assert fill_of("P.text", '"name"') == ConstantFill("name")
    assert fill_of("P.age", "7") == fill_of("P.age", 7) == ConstantFill(7)


def test_texts_are_joined_and_the_first_that_is_there_is_taken() -> None:
    name = CopyFill(ACCEPTED.nodes[0].by_name["name"])
    assert fill_of("P.text", 'name+" " + name') == ConcatFill((name, ConstantFill(" "), name))
    either = CoalesceFill((name, ConstantFill("nobody")))
    assert fill_of("P.text", 'coalesce( name , "nobody" )') == either
    assert fill_of("P.text", '"a + b" + coalesce(name, "nobody")') == ConcatFill(
        (ConstantFill("a + b"), either)
    )
    age = CopyFill(ACCEPTED.nodes[0].by_name["age"])
    assert fill_of("P.age", "coalesce(age, -1)") == CoalesceFill((age, ConstantFill(-1)))


def test_it_is_shown_as_it_was_written() -> None:
    given = parse_backfill({"P.text": ' "x" ', "P.age": 7}, ACCEPTED, DESIRED)
    assert list(given.spelled.values()) == ['"x"', "7"]


@pytest.mark.parametrize(
    ("place", "value", "code"),
    [
        ("P.nobody", "name", "schema.backfill_unknown"),
        ("Nobody.text", "name", "schema.backfill_unknown"),
        ("P", "name", "schema.backfill_unknown"),
        ("", "name", "schema.backfill_unknown"),
        (7, "name", "schema.backfill_unknown"),
        ("P.text", "nobody", "schema.backfill_source"),
        ("P.text", "name + 1", "schema.backfill_value"),
        ("P.text", "name +", "schema.backfill_expression"),
        ("P.text", "name name", "schema.backfill_expression"),
        ("P.text", "upper(name)", "schema.backfill_expression"),
        ("P.text", "coalesce()", "schema.backfill_expression"),
        ("P.text", "coalesce(name", "schema.backfill_expression"),
        ("P.text", "coalesce(" * 500 + "name" + ")" * 500, "schema.backfill_expression"),
        ("P.text", "coalesce(name, nobody)", "schema.backfill_source"),
        ("P.text", "name + age", "schema.backfill_type"),
        ("P.age", "age + 1", "schema.backfill_type"),
        ("P.text", "", "schema.backfill_expression"),
        ("P.text", '"open', "schema.backfill_expression"),
        ("P.text", "[" * 100_000, "schema.backfill_expression"),
        ("P.text", "7", "schema.backfill_value"),
        ("P.text", None, "schema.backfill_value"),
        ("P.text", "null", "schema.backfill_value"),
        ("P.age", "1e400", "schema.backfill_value"),
        ("P.age", '"seven"', "schema.backfill_value"),
        ("P.small", str(2**31), "schema.backfill_value"),
        ("P.small", "age", "schema.backfill_type"),
        ("P.age", "name", "schema.backfill_type"),
        ("P.v3", "v", "schema.backfill_type"),
        ("P.photo2", "photo", "schema.backfill_type"),
        ("P.photo2", '"base64:AA=="', "schema.backfill_type"),
    ],
)
def test_a_backfill_that_makes_no_sense_says_why(place: Any, value: Any, code: str) -> None:
    with pytest.raises(SchemaFailure) as caught:
        parse_backfill({place: value}, ACCEPTED, DESIRED)
    assert caught.value.code == code
    assert caught.value.remedy


@pytest.mark.parametrize("given", [7, "P.text=name", [("P.text", "name")]])
def test_what_is_no_mapping_is_no_backfill(given: object) -> None:
    with pytest.raises(SchemaFailure) as caught:
        parse_backfill(given, ACCEPTED, DESIRED)
    assert caught.value.code == "schema.backfill_no_mapping"


@pytest.mark.parametrize("place", ["P.name", "P.photo", "New.name"])
def test_what_has_its_values_is_not_filled(place: str) -> None:
    given = parse_backfill({place: "anything at all"}, ACCEPTED, DESIRED)
    assert given.unwanted == (place,)
    assert not given.fills
    with pytest.raises(SchemaFailure) as caught:
        given.require_wanted()
    assert caught.value.code == "schema.backfill_unwanted"
