"""Lines that differ in nothing but their strings."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.loading.line_templates import read_strings


def read(*lines: str, head: str | None = "edge") -> dict[tuple[str, ...], list[str]] | None:
    data = "".join(f"{line}\n" for line in lines).encode()
    first = data[: data.index(b"\n") + 1]
    found = read_strings(pa.py_buffer(data), first, head, ("data",))
    return None if found is None else {path: part.to_pylist() for path, part in found.items()}


def edge(source: str, target: str, **data: Any) -> str:
    return json.dumps(
        {"edge": "Knows", "from": source, "to": target, "data": data}, ensure_ascii=False
    )


def test_values_are_found_by_their_place() -> None:
    assert read(edge("a", "b", since="x"), edge("", "é😀", since="a longer one")) == {
        ("from",): ["a", ""],
        ("to",): ["b", "é😀"],
        ("data", "since"): ["x", "a longer one"],
    }


def test_an_empty_object_as_a_value_is_not_missed() -> None:
    assert read(edge("a", "b", since={})) is None


def test_one_line_is_like_itself() -> None:
    assert read(edge("a", "b")) == {("from",): ["a"], ("to",): ["b"]}
    assert read('{"a":"1"}', head=None) == {("a",): ["1"]}


@pytest.mark.parametrize(
    "line",
    [
        '{"edge": "Likes", "from": "a", "to": "b", "data": {}}',
        '{"edge": "Knows", "to": "a", "from": "b", "data": {}}',
        '{"edge": "Knows", "from": "a", "to": "b",  "data": {}}',
        '{"edge": "Knows", "from": "a", "to": "b", "data": {}} ',
        '{"edge": "Knows", "from": "a", "to": "b", "data": {"since": "x"}}',
        '{"edge": "Knows", "from": "a", "to": 5, "data": {}}',
        '{"edge": "Knows", "from": "a", "to": "\\"", "data": {}}',
        '{"edge": "Knows", "from": "a", "to": "\t", "data": {}}',
        '{"edge": "Knows", "from": "a", "to": "b", "data": {}}\r',
        '{"edge": "Knows", "from": "a" "to": "b", ,"data": {}}',
        '{"edge": "Knows", "from": "a", "to": "b", "data": []}',
        "",
        "{}",
    ],
)
def test_a_line_that_is_not_alike_spoils_the_block(line: str) -> None:
    good = edge("a", "b")
    assert read(good, line) is None
    assert read(good, good, line, good) is None


@pytest.mark.parametrize(
    "line",
    [
        '{"edge": "Knows", "from": 5, "to": "b"}',
        '{"edge": "Knows", "from": null, "to": "b"}',
        '{"edge": "Knows", "from": ["a"], "to": "b"}',
        '{"edge": "Knows", "from": "a", "from": "b"}',
        '{"edge": "Knows"}',
        '{"edge": "Knows", "from": "a"',
        '["edge"]',
        "",
    ],
)
def test_a_first_line_with_anything_but_strings_is_no_template(line: str) -> None:
    assert read(line, line) is None
