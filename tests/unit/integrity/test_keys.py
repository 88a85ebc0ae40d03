"""The same id twice, and ids that exist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.api.writes import Mode
from omnigraph.errors import KeyConflict, ValidationFailure
from omnigraph.integrity.keys import remove_repeats, repeated
from omnigraph.integrity.violations import Report

JudgeOf = Callable[[str], Any]

SCHEMA = "node T { key: String @key\n value: I32?\n @range(value, 0..9) }"


def rows_of(judge: Any, *values: tuple[str, int | None]) -> tuple[Any, pa.Table]:
    change = judge.change("T", [{"key": key, "value": value} for key, value in values])
    return change.entity, change.rows


def test_the_last_record_wins_in_a_merge(judge_of: JudgeOf) -> None:
    entity, rows = rows_of(judge_of(SCHEMA), ("a", 1), ("b", 2), ("a", 3), ("a", 4))
    report = Report()
    kept, records, superseded = remove_repeats(
        entity, rows, np.array([10, 20, 30, 40]), Mode.MERGE, report
    )
    assert kept.column("id").to_pylist() == ["b", "a"]
    assert (records.tolist(), superseded, report.total) == ([20, 40], 2, 0)


@pytest.mark.parametrize("mode", [Mode.APPEND, Mode.OVERWRITE])
def test_otherwise_the_same_id_twice_is_a_violation(judge_of: JudgeOf, mode: Mode) -> None:
    entity, rows = rows_of(judge_of(SCHEMA), ("a", 1), ("b", 2), ("a", 3))
    report = Report()
    remove_repeats(entity, rows, np.array([1, 2, 3]), mode, report)
    (found,) = report.violations
    assert (found.rule, found.id, found.record) == ("key", "a", 1)
    assert found.message == "duplicate id 'a', repeated in record 3"


def test_a_superseded_record_is_held_to_its_values(judge_of: JudgeOf) -> None:
    entity, rows = rows_of(judge_of(SCHEMA), ("a", 99), ("a", 1))
    report = Report()
    remove_repeats(entity, rows, np.array([1, 2]), Mode.MERGE, report)
    assert [(found.rule, found.record) for found in report.violations] == [("range", 1)]


def test_rows_without_repeats_stay_as_they_are(judge_of: JudgeOf) -> None:
    entity, rows = rows_of(judge_of(SCHEMA), ("a", 1), ("b", 2))
    records = np.array([1, 2])
    assert remove_repeats(entity, rows, records, Mode.APPEND, Report()) == (rows, records, 0)


def test_repeats_are_found_over_several_columns_and_never_with_null() -> None:
    keys = pa.table({"a": ["x", "x", "y", "x", None, None], "b": [1, 2, 1, 1, 1, 1]})
    earlier, later = repeated(keys)
    assert (earlier.tolist(), later.tolist()) == ([0], [3])


def test_each_repeat_knows_the_last_of_its_kind() -> None:
    earlier, later = repeated(pa.table({"a": ["x", "y", "x", "x", "y"]}))
    assert (earlier.tolist(), later.tolist()) == ([0, 1, 2], [3, 4, 3])


def test_a_strict_insert_meets_ids_that_exist_in_its_own_order(judge_of: JudgeOf) -> None:
    judge = judge_of(SCHEMA)
    judge.add({"type": "T", "data": {"key": "a"}}, {"type": "T", "data": {"key": "b"}})
    change = judge.change("T", [{"key": key} for key in "cba"], mode="append")
    with pytest.raises(KeyConflict) as caught:
        judge.evaluate(change).raise_if_broken()
    assert caught.value.code == "key.exists"
    assert caught.value.details == {"entity_kind": "node", "type_name": "T", "ids": ["b", "a"]}


def test_violations_come_before_the_conflict(judge_of: JudgeOf) -> None:
    judge = judge_of(SCHEMA)
    judge.add({"type": "T", "data": {"key": "a"}})
    change = judge.change("T", [{"key": "a", "value": 10}], mode="append")
    with pytest.raises(ValidationFailure):
        judge.evaluate(change).raise_if_broken()


def test_a_merge_finds_where_the_rows_are_that_it_replaces(judge_of: JudgeOf) -> None:
    judge = judge_of(SCHEMA)
    judge.add({"type": "T", "data": {"key": "a"}}, {"type": "T", "data": {"key": "b"}})
    change = judge.change("T", [{"key": "b"}, {"key": "c"}])
    located = judge.evaluate(change).located[change.entity.id]
    assert located.column("id").to_pylist() == ["b"]


@pytest.mark.parametrize("count", [999, 1_001])
def test_few_ids_and_many_are_found_alike(judge_of: JudgeOf, count: int) -> None:
    judge = judge_of(SCHEMA)
    judge.add(*({"type": "T", "data": {"key": f"k{n}"}} for n in range(0, 1_200, 2)))
    change = judge.change("T", [{"key": f"k{n}"} for n in range(count)], mode="append")
    [(entity, met)] = judge.evaluate(change).conflicts
    assert entity.name == "T"
    assert sorted(met) == sorted(f"k{n}" for n in range(0, count, 2))
