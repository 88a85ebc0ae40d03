"""What the terminal can show."""

from __future__ import annotations

import io
from typing import TextIO

import pytest

from omnigraph.cli.terminal import (
    cell_width,
    colorize,
    escape_controls,
    shorten,
    supports_unicode,
    terminal_width,
)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("text", "width"),
    [("", 0), ("abc", 3), ("東京", 4), ("e\u0301", 1), ("a\u200bb", 2), ("ｱ", 1)],
)
def test_a_cell_is_as_wide_as_it_looks(text: str, width: int) -> None:
    assert cell_width(text) == width


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("short", 5, "short"),
        ("longer", 5, "long…"),
        ("東京都", 4, "東…"),
        ("東京都", 6, "東京都"),
        ("abc", 1, "…"),
        ("abc", 0, ""),
    ],
)
def test_a_long_text_is_cut_where_it_still_fits(text: str, width: int, shown: str) -> None:
    assert shorten(text, width) == shown


def test_control_characters_are_spelled_and_letters_are_kept() -> None:
    assert escape_controls("a\tb\nc\x1b[31m\x7f\u2028") == r"a\tb\nc\x1b[31m\x7f\u2028"
    assert escape_controls("a\u202eb\u2066c") == r"a\u202eb\u2066c"
    assert escape_controls("José 東京 ✓") == "José 東京 ✓"
    assert escape_controls("no\u00a0break") == "no\u00a0break"


def test_colours_need_a_terminal_that_wants_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert colorize("x", "red", _Terminal()) == "\x1b[1;31mx\x1b[0m"
    assert colorize("x", "red", io.StringIO()) == "x"
    assert colorize("x", "red", None) == "x"
    monkeypatch.setenv("TERM", "dumb")
    assert colorize("x", "red", _Terminal()) == "x"
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "")
    assert colorize("x", "red", _Terminal()) == "x"


@pytest.mark.parametrize(("said", "columns"), [("40", 40), ("0", None), ("wide", None)])
def test_columns_says_how_wide_the_page_is(
    monkeypatch: pytest.MonkeyPatch, said: str, columns: int | None
) -> None:
    monkeypatch.setenv("COLUMNS", said)
    assert terminal_width(io.StringIO()) == columns


@pytest.mark.parametrize(
    ("encoding", "spells"), [("utf-8", True), ("UTF8", True), ("ascii", False), ("cp1252", False)]
)
def test_only_unicode_encodings_spell_everything(encoding: str, spells: bool) -> None:
    stream: TextIO = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    assert supports_unicode(stream) is spells
    assert not supports_unicode(None)
