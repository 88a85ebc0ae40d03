"""INV-9: the rules that look at one value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

JudgeOf = Callable[[str], Any]

ONE_PROPERTY = "node T {{ key: String @key\n value: {} }}"
RANGED = "node T {{ key: String @key\n value: {} \n @range(value, {}) }}"


@pytest.mark.parametrize(
    ("declared", "good", "bad", "rule"),
    [
        ("String", ["", "x"], [None], "required"),
        ("I32", [0, 5], [None], "required"),
        ("enum(a, b)?", ["a", "b", None], ["c", "", "A"], "enum"),
        ("F64?", [0.0, -1.5, None], [float("nan"), float("inf"), float("-inf")], "finite"),
        ("F32?", [0.5, None], [float("nan"), float("-inf")], "finite"),
        ("[F64]?", [[], [1.0], None], [[1.0, float("nan")]], "finite"),
        ("[String]?", [[], ["a"], None], [["a", None], [None]], "list"),
        ("[I64]?", [[], [1, 2], None], [[1, None]], "list"),
        ("Vector(2)?", [[1.0, 0.0], None], [[0.0, 0.0], [float("nan"), 1.0]], "vector"),
        ("Vector(2)?", [[-1.0, 1.0]], [[float("inf"), 1.0], [0.0, -0.0]], "vector"),
    ],
)
def test_a_value_keeps_its_rule_or_is_named(
    judge_of: JudgeOf, declared: str, good: list[Any], bad: list[Any], rule: str
) -> None:
    judge = judge_of(ONE_PROPERTY.format(declared))
    rows = [{"key": str(n), "value": value} for n, value in enumerate([*good, *bad])]
    found = judge.broken(judge.change("T", rows))
    first_bad = len(good) + 1
    assert [item[:3] for item in found] == [(rule, first_bad + n, "value") for n in range(len(bad))]


@pytest.mark.parametrize(
    ("declared", "bounds", "good", "bad"),
    [
        ("I32?", "0..150", [0, 150, None], [-1, 151]),
        ("I64?", "-5..", [-5, 2**62], [-6]),
        ("U64?", "..10", [0, 10], [11, 2**64 - 1]),
        ("U32?", "1..2", [1, 2], [0, 3]),
        ("F64?", "0.5..1.5", [0.5, 1.5, None], [0.4999, 1.5001]),
        ("F32?", "0.0..0.25", [0.0, 0.25], [0.2500001, -0.1]),
    ],
)
def test_both_bounds_of_a_range_belong_to_it(
    judge_of: JudgeOf, declared: str, bounds: str, good: list[Any], bad: list[Any]
) -> None:
    judge = judge_of(RANGED.format(declared, bounds))
    rows = [{"key": str(n), "value": value} for n, value in enumerate([*good, *bad])]
    found = judge.broken(judge.change("T", rows))
    assert [item[:2] for item in found] == [("range", len(good) + 1 + n) for n in range(len(bad))]


def test_a_pattern_must_match_the_whole_value(judge_of: JudgeOf) -> None:
    judge = judge_of(
        'node T { key: String @key\n code: String? \n @check(code, "[A-Z]{2}|x[0-9]+") }'
    )
    values = ["AB", "x17", None, "ABC", "ab", "x", "AB\n", "", "x1\n2"]
    rows = [{"key": str(n), "code": value} for n, value in enumerate(values)]
    found = judge.broken(judge.change("T", rows))
    assert [item[1] for item in found] == [4, 5, 6, 7, 8, 9]
    assert {item[0] for item in found} == {"check"}


def test_every_broken_rule_of_a_row_is_told(judge_of: JudgeOf) -> None:
    judge = judge_of("node T { key: String @key\n a: I32\n b: enum(x)?\n c: Vector(1)? }")
    found = judge.broken(judge.change("T", [{"key": "k", "a": None, "b": "y", "c": [0.0]}]))
    assert sorted(item[0] for item in found) == ["enum", "required", "vector"]


def test_a_violation_names_type_id_property_and_value(judge_of: JudgeOf) -> None:
    judge = judge_of(RANGED.format("I32?", "0..9"))
    report = judge.evaluate(judge.change("T", [{"key": "ann", "value": 10}])).report
    (found,) = report.violations
    assert found.to_json() == {
        "rule": "range",
        "message": "10 is not in 0..9",
        "type": "T",
        "id": "ann",
        "property": "value",
        "value": 10,
        "record": 1,
    }


def test_long_values_are_shortened_and_lists_left_out(judge_of: JudgeOf) -> None:
    judge = judge_of("node T { key: String @key\n a: enum(x)?\n b: [String]? }")
    rows = [{"key": "k", "a": "y" * 500, "b": ["z", None]}]
    shown = {item[2]: item[3] for item in judge.broken(judge.change("T", rows))}
    assert len(shown["a"]) < 130
    assert shown["b"] is None


def test_rows_that_go_are_not_looked_at(judge_of: JudgeOf) -> None:
    judge = judge_of(ONE_PROPERTY.format("String"))
    assert judge.broken(judge.change("T", deletes=["a", "b"])) == []
