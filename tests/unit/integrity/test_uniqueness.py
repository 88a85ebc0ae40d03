"""INV-9: unique values, inside a batch and against the branch."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

JudgeOf = Callable[[str], Any]

MAIL = "node T { key: String @key\n mail: String? @unique }"
PAIR = "node T { key: String @key\n a: String?\n b: I32?\n @unique(a, b) }"


def node(key: str, **values: Any) -> dict[str, Any]:
    return {"type": "T", "data": {"key": key, **values}}


def test_two_rows_of_a_batch_may_not_share_a_value(judge_of: JudgeOf) -> None:
    judge = judge_of(MAIL)
    rows = [{"key": key, "mail": mail} for key, mail in (("a", "m"), ("b", "n"), ("c", "m"))]
    assert judge.broken(judge.change("T", rows)) == [("unique", 3, "mail", "m")]


def test_null_never_clashes(judge_of: JudgeOf) -> None:
    judge = judge_of(MAIL)
    judge.add(node("a"))
    rows = [{"key": key, "mail": None} for key in "bcd"]
    assert judge.broken(judge.change("T", rows)) == []


def test_a_value_that_the_branch_holds_clashes(judge_of: JudgeOf) -> None:
    judge = judge_of(MAIL)
    judge.add(node("a", mail="m"))
    found = judge.evaluate(judge.change("T", [{"key": "b", "mail": "m"}])).report.violations
    assert [(item.rule, item.id, item.message) for item in found] == [
        ("unique", "b", "not unique: 'a' has the same values")
    ]


@pytest.mark.parametrize("mode", ["append", "merge"])
def test_an_entity_does_not_clash_with_itself(judge_of: JudgeOf, mode: str) -> None:
    judge = judge_of(MAIL)
    judge.add(node("a", mail="m"))
    assert judge.broken(judge.change("T", [{"key": "a", "mail": "m"}], mode=mode)) == []


def test_a_value_may_pass_from_one_entity_to_another(judge_of: JudgeOf) -> None:
    judge = judge_of(MAIL)
    judge.add(node("a", mail="m"), node("b", mail="n"))
    swapped = [{"key": "a", "mail": "n"}, {"key": "b", "mail": "m"}]
    assert judge.broken(judge.change("T", swapped)) == []
    taken_over = judge.change("T", [{"key": "c", "mail": "m"}], deletes=["a"])
    assert judge.broken(taken_over) == []


def test_an_overwrite_looks_only_at_itself(judge_of: JudgeOf) -> None:
    judge = judge_of(MAIL)
    judge.add(node("a", mail="m"))
    change = judge.change("T", [{"key": "b", "mail": "m"}], mode="overwrite")
    assert judge.broken(change) == []


def test_a_composite_clashes_only_as_a_whole(judge_of: JudgeOf) -> None:
    judge = judge_of(PAIR)
    judge.add(node("x", a="p", b=1), node("y", a="p"))
    rows = [
        {"key": "1", "a": "p", "b": 2},
        {"key": "2", "a": "q", "b": 1},
        {"key": "3", "a": "p", "b": None},
        {"key": "4", "a": "p", "b": 1},
        {"key": "5", "a": "q", "b": 1},
    ]
    assert judge.broken(judge.change("T", rows)) == [
        ("unique", 5, "a, b", ["q", 1]),
        ("unique", 4, "a, b", ["p", 1]),
    ]


@pytest.mark.parametrize(
    ("declared", "value", "other"),
    [
        ("I32", 1, 2),
        ("I64", 2**62, -(2**62)),
        ("U64", 2**64 - 1, 0),
        ("F64", 0.1, 0.2),
        ("F32", 0.5, 0.25),
        ("Bool", True, False),
        ("Date", dt.date(2020, 1, 1), dt.date(2020, 1, 2)),
        (
            "DateTime",
            dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
            dt.datetime(2020, 1, 1, microsecond=1, tzinfo=dt.UTC),
        ),
        ("enum(x, y)", "x", "y"),
    ],
)
def test_values_of_every_scalar_type_can_be_unique(
    judge_of: JudgeOf, declared: str, value: Any, other: Any
) -> None:
    judge = judge_of(f"node T {{ key: String @key\n v: {declared}? @unique }}")
    judge.add(node("a", v=value))
    rows = [{"key": "b", "v": other}, {"key": "c", "v": value}, {"key": "d", "v": other}]
    found = judge.broken(judge.change("T", rows))
    assert [item[:2] for item in found] == [("unique", 3), ("unique", 2)]


def test_both_zeros_are_one_value(judge_of: JudgeOf) -> None:
    judge = judge_of("node T { key: String @key\n v: F64? @unique }")
    judge.add(node("a", v=0.0))
    rows = [{"key": "b", "v": -0.0}]
    assert [item[0] for item in judge.broken(judge.change("T", rows))] == ["unique"]


def test_edges_can_be_unique_by_their_ends(judge_of: JudgeOf) -> None:
    judge = judge_of("node N { key: String @key }\nedge E: N -> N { @unique(src, dst) }")
    judge.add(
        *({"type": "N", "data": {"key": key}} for key in "abc"),
        {"edge": "E", "from": "a", "to": "b"},
    )
    rows = [{"from": "a", "to": "c"}, {"from": "b", "to": "a"}, {"from": "a", "to": "b"}]
    found = judge.broken(judge.change("E", rows))
    assert found == [("unique", 3, "src, dst", ["a", "b"])]


def test_many_clashes_are_counted_and_some_described(judge_of: JudgeOf) -> None:
    judge = judge_of(MAIL)
    rows = [{"key": str(n), "mail": "same"} for n in range(5_000)]
    report = judge.evaluate(judge.change("T", rows)).report
    assert report.counts == {"unique": 4_999}
    assert len(report.violations) == 100
