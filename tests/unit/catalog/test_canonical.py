"""The catalog as JSON: one spelling, a digest, a strict way back."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.catalog.canonical import canonical_bytes, digest, from_json, to_json
from omnigraph.errors import SchemaFailure

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.catalog.model import Catalog

    Build = Callable[..., Catalog]

LIBRARY = Path(__file__).parents[2] / "corpus" / "pg" / "valid" / "library.pg"


@pytest.fixture
def library(build: Build) -> Catalog:
    return build(LIBRARY.read_text(encoding="utf-8"))


def test_a_catalog_survives_the_way_through_json(library: Catalog) -> None:
    again = from_json(json.loads(canonical_bytes(library)))
    assert again == library
    assert digest(again) == digest(library)


def test_the_bytes_are_sorted_dense_and_utf8(build: Build) -> None:
    catalog = build('node A @description("é") {}')
    assert (
        canonical_bytes(catalog)
        == (
            '{"edges":[],"format":1,"interfaces":[],"nodes":[{"annotations":[{"args":["é"],'
            '"kwargs":[],"name":"description"}],"checks":[],"id":"i1","indexes":[],"interfaces":[],'
            '"key":null,"name":"A","properties":[],"ranges":[],"uniques":[]}]}'
        ).encode()
    )


def test_the_digest_changes_with_anything_that_means_something(build: Build) -> None:
    base = "node A { x: I32 y: F64 }"
    first = build(base)
    variants = [
        "node A { x: I32? y: F64 }",
        "node A { x: I64 y: F64 }",
        "node A { x: I32 y: F64 @index(x) }",
        "node A { x: I32 y: F64 @range(0..) }",
        "node A { x: I32 @default(1) y: F64 }",
        "node A { x: I32 @note(true) y: F64 }",
        "node A { x: I32 @note(1) y: F64 }",
        "node A { y: F64 x: I32 }",
        'node A @description("d") { x: I32 y: F64 }',
    ]
    digests = {digest(build(text, first)) for text in [base, *variants]}
    assert len(digests) == len(variants) + 1


def test_layout_comments_and_the_order_of_constraints_do_not_change_it(build: Build) -> None:
    first = build("node A { x: I32 @index y: F64 @range(0..1) @unique(x, y) }")
    second = build(
        "node A { // x\n x: I32\n y: F64\n @unique(x, y) @range(y, 0.0..1.0) @index(x) }", first
    )
    assert digest(second) == digest(first)


BROKEN: dict[str, Callable[[dict[str, Any]], object]] = {
    "another format": lambda body: body.update(format=2),
    "a format that is no number": lambda body: body.update(format=True),
    "no nodes": lambda body: body.pop("nodes"),
    "nodes that are no list": lambda body: body.update(nodes={}),
    "a node that is no object": lambda body: body["nodes"].append(3),
    "an unknown key": lambda body: body.update(extra=1),
    "an unknown key inside": lambda body: body["nodes"][0].update(extra=1),
    "a name that is no text": lambda body: body["nodes"][0].update(name=3),
    "nullable that is no boolean": lambda body: body["nodes"][0]["properties"][0].update(
        nullable=1
    ),
    "an unknown scalar": lambda body: body["nodes"][0]["properties"][0].update(type="I16"),
    "an enum out of order": lambda body: body["nodes"][0]["properties"][0].update(
        type={"enum": ["b", "a"]}
    ),
    "an enum of numbers": lambda body: body["nodes"][0]["properties"][0].update(type={"enum": [1]}),
    "an empty enum": lambda body: body["nodes"][0]["properties"][0].update(type={"enum": []}),
    "a list of nothing": lambda body: body["nodes"][0]["properties"][0].update(type={"list": "X"}),
    "a vector of true": lambda body: body["nodes"][0]["properties"][0].update(
        type={"vector": True}
    ),
    "a vector of length zero": lambda body: body["nodes"][0]["properties"][0].update(
        type={"vector": 0}
    ),
    "a type with two meanings": lambda body: body["nodes"][0]["properties"][0].update(
        type={"vector": 3, "list": "I32"}
    ),
    "one identity twice": lambda body: body["nodes"][1].update(id=body["nodes"][0]["id"]),
    "one property identity twice": lambda body: body["nodes"][0]["properties"][1].update(
        id=body["nodes"][0]["properties"][0]["id"]
    ),
    "one column twice": lambda body: body["nodes"][0]["properties"][1].update(
        column=body["nodes"][0]["properties"][0]["column"]
    ),
    "an unknown interface": lambda body: body["nodes"][0].update(interfaces=["Nothing"]),
    "an unknown endpoint": lambda body: body["edges"][0].update(source="nothing"),
    "an unknown key member": lambda body: body["nodes"][0].update(key=["nothing"]),
    "an unknown unique member": lambda body: body["nodes"][0].update(uniques=[["nothing"]]),
    "uniques that are no lists": lambda body: body["nodes"][0].update(uniques=["nothing"]),
    "an unknown range member": lambda body: body["nodes"][0].update(
        ranges=[{"property": "nothing", "low": 1, "high": None}]
    ),
    "a bound that is a text": lambda body: body["nodes"][0].update(
        ranges=[{"property": "i2", "low": "1", "high": None}]
    ),
    "a bound that is infinite": lambda body: body["nodes"][0].update(
        ranges=[{"property": "i2", "low": float("inf"), "high": None}]
    ),
    "a cardinality of three": lambda body: body["edges"][0].update(cardinality=[1, 2, 3]),
    "a cardinality of text": lambda body: body["edges"][0].update(cardinality=["1", None]),
    "an annotation with a list": lambda body: body["nodes"][0].update(
        annotations=[{"name": "a", "args": [[1]], "kwargs": []}]
    ),
    "half a character": lambda body: body["nodes"][0].update(name="Person\ud800"),
    "an annotation with half a character": lambda body: body["nodes"][0].update(
        annotations=[{"name": "a", "args": ["\ud800"], "kwargs": []}]
    ),
    "an annotation with odd pairs": lambda body: body["nodes"][0].update(
        annotations=[{"name": "a", "args": [], "kwargs": [["k"]]}]
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_anything_else_is_refused_with_its_path(library: Catalog, name: str) -> None:
    body = copy.deepcopy(to_json(library))
    BROKEN[name](body)
    with pytest.raises(SchemaFailure) as caught:
        from_json(body)
    assert caught.value.code == "catalog.malformed"
    assert caught.value.details["path"].startswith("catalog")
    assert caught.value.remedy


@pytest.mark.parametrize("value", [None, [], "text", 3])
def test_what_is_no_object_is_refused(value: object) -> None:
    with pytest.raises(SchemaFailure, match="is not an object"):
        from_json(value)
