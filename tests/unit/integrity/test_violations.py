"""Reports: the first violations whole, all of them counted."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest

from omnigraph.errors import ValidationFailure
from omnigraph.integrity.violations import Report, Violation


def test_nothing_wrong_is_no_error() -> None:
    report = Report()
    assert not report
    report.raise_if_any()


def test_all_are_counted_and_the_first_are_kept() -> None:
    report = Report(limit=2)
    for record in range(5):
        report.add(Violation("type", "no", record=record))
    assert (report.total, len(report.violations), report.room) == (5, 2, 0)


def test_the_error_names_the_first_ten_and_how_many_more() -> None:
    report = Report()
    for record in range(30, 0, -1):
        report.add(Violation("type", f"no {record}", type="T", property="p", record=record))
    with pytest.raises(ValidationFailure) as caught:
        report.raise_if_any()
    lines = caught.value.message.splitlines()
    assert lines[0] == "30 violations, nothing was written"
    assert lines[1] == "  record 1: T.p: no 1 [type]"
    assert lines[-1] == "  … and 20 more"
    assert caught.value.code == "data.type"
    assert caught.value.details["counts"] == {"type": 30}
    assert [found["record"] for found in caught.value.details["violations"]] == [*range(1, 31)]


def test_one_violation_is_told_in_the_singular() -> None:
    report = Report()
    report.add(Violation("endpoint", "there is no Person 'x'", type="Knows", id="k"))
    with pytest.raises(ValidationFailure, match="1 violation, nothing was written\n  k: Knows: "):
        report.raise_if_any()


def test_what_is_wrong_with_a_whole_table_stands_at_no_place() -> None:
    found = Violation("unknown_property", "Person has no property 'x'", type="Person", property="x")
    assert found.describe() == "Person.x: Person has no property 'x' [unknown_property]"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (dt.date(2026, 11, 1), "2026-11-01"),
        (dt.datetime(2026, 11, 1, 12, tzinfo=dt.UTC), "2026-11-01T12:00:00Z"),
        (["a", dt.date(2026, 11, 1), None], ["a", "2026-11-01", None]),
        (float("nan"), "nan"),
        (2**64, 2**64),
        ("x" * 1000, "x" * 120 + "…"),
    ],
)
def test_values_are_told_in_json(value: Any, told: Any) -> None:
    said = Violation("unique", "not unique", value=value).to_json()
    assert json.loads(json.dumps(said, allow_nan=False))["value"] == told


def test_places_are_added_to_what_has_a_record() -> None:
    report = Report()
    report.add(Violation("type", "no", record=7))
    report.add(Violation("endpoint", "lost", id="e"))
    report.locate(lambda record: ("people.jsonl", record + 1))
    first, second = report.violations
    assert first.describe() == "record 7 (people.jsonl, line 8): no [type]"
    assert (second.file, second.line) == (None, None)


def test_a_report_takes_in_another_up_to_its_limit() -> None:
    report, other = Report(limit=3), Report()
    report.add(Violation("a", "1"))
    for n in range(5):
        other.add(Violation("b", str(n)))
    report.extend(other)
    assert report.counts == {"a": 1, "b": 5}
    assert [found.message for found in report.violations] == ["1", "0", "1"]
