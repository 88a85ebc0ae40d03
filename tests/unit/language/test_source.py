"""Positions in texts."""

from __future__ import annotations

import pytest

from omnigraph.language.source import Position, Source, Span


@pytest.mark.parametrize(
    ("offset", "line", "column"),
    [(0, 1, 1), (2, 1, 3), (3, 2, 1), (4, 3, 1), (6, 3, 3)],
)
def test_lines_and_columns_count_from_one(offset: int, line: int, column: int) -> None:
    assert Source("ab\n\ncde").position(offset) == Position(line, column)


def test_the_end_of_a_text_has_a_position() -> None:
    assert Source("ab\n").position(3) == Position(2, 1)
    assert Source("").position(0) == Position(1, 1)


def test_lines_come_without_their_ends() -> None:
    source = Source("one\r\ntwo\nthree")
    assert [source.line(number) for number in (1, 2, 3)] == ["one", "two", "three"]


def test_a_span_reaches_to_another() -> None:
    assert Span(2, 4).to(Span(7, 9)) == Span(2, 9)


def test_sources_are_equal_by_text_and_name() -> None:
    looked_at = Source("a", "x")
    looked_at.position(0)
    assert looked_at == Source("a", "x")
