"""Findings as people and programs see them."""

from __future__ import annotations

import pytest

from omnigraph.errors import SyntaxFailure
from omnigraph.language.diagnostics import (
    MAX_REPORTED,
    Diagnostic,
    Severity,
    did_you_mean,
    failure,
    render,
)
from omnigraph.language.source import Source, Span


def test_a_finding_shows_place_line_caret_and_remedy() -> None:
    source = Source("first\nsecond line\n", "x.pg")
    found = Diagnostic("X1", "something", Span(13, 17), "do it", Severity.WARNING)
    assert render(source, found) == (
        "x.pg:2:8: warning [X1] something\n    second line\n           ^^^^\n  help: do it"
    )
    assert found.to_json(source) == {
        "severity": "warning",
        "code": "X1",
        "message": "something",
        "file": "x.pg",
        "line": 2,
        "column": 8,
        "remedy": "do it",
    }


def test_tabs_before_the_caret_are_kept() -> None:
    shown = render(Source("\t\tname"), Diagnostic("X1", "m", Span(2, 6), "r"))
    assert shown.splitlines()[2] == "    \t\t^^^^"


def test_the_caret_stands_under_its_place_whatever_the_width_of_the_characters() -> None:
    shown = render(Source('"日本" 日x'), Diagnostic("X1", "m", Span(5, 7), "r"))
    assert shown.splitlines()[2] == "    " + " " * 7 + "^^^"
    shown = render(Source("e\u0301\u200d x"), Diagnostic("X1", "m", Span(4, 5), "r"))
    assert shown.splitlines()[2] == "    " + " " * 2 + "^"


def test_what_would_move_the_cursor_is_shown_as_something_that_does_not() -> None:
    source = Source("a\x1b[31m\u202eb\x85\tc")
    shown = render(source, Diagnostic("X1", "found `\x00`", Span(7, 8), "r"))
    assert shown.splitlines()[:3] == [
        "<input>:1:8: error [X1] found `\u2400`",
        "    a\u241b[31m\ufffdb\ufffd\tc",
        "           ^",
    ]


def test_the_caret_stops_at_the_end_of_its_line() -> None:
    shown = render(Source("ab\ncd"), Diagnostic("X1", "m", Span(1, 5), "r"))
    assert shown.splitlines()[2] == "     ^"


@pytest.mark.parametrize("column", [0, 500, 999])
def test_a_long_line_is_shown_in_part(column: int) -> None:
    text = "".join(str(number % 10) for number in range(1000))
    shown = render(Source(text), Diagnostic("X1", "m", Span(column, column + 1), "r"))
    _, line, caret, _ = shown.splitlines()
    assert len(line) < 200
    assert line[caret.index("^")] == text[column]


def test_all_findings_make_one_error_in_the_order_of_the_text() -> None:
    source = Source("abc")
    found = [
        Diagnostic("X2", "later", Span(2, 3), "r"),
        Diagnostic("X1", "sooner", Span(0, 1), "r"),
    ]
    error = failure(SyntaxFailure, source, found)
    assert isinstance(error, SyntaxFailure)
    assert error.code == "X1"
    assert error.message.index("sooner") < error.message.index("later")
    assert [each["code"] for each in error.details["diagnostics"]] == ["X1", "X2"]


def test_very_many_findings_are_counted_not_listed() -> None:
    found = [Diagnostic("X1", "m", Span(0, 1), "r")] * (MAX_REPORTED + 7)
    error = failure(SyntaxFailure, Source("a"), found)
    assert len(error.details["diagnostics"]) == MAX_REPORTED
    assert error.message.endswith("… and 7 more")


def test_a_close_word_is_suggested_without_regard_to_case() -> None:
    assert did_you_mean("persn", ["City", "Person"]) == "did you mean `Person`?"
    assert did_you_mean("zzz", ["City", "Person"]) is None
    assert did_you_mean("Person" * 100, ["Person" * 100]) is None
