"""Pages are whole: fences, tables and headings are complete, and no sentence stands twice."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = "```"
CODE = "    "
SEPARATOR = re.compile(r"^\|[-:| ]+\|$")
# Shorter lines, table cells for example, may repeat.
LONG_LINE = 60


def problems(text: str) -> Iterator[str]:
    """The places at which a page is damaged."""
    if not text.endswith("\n"):
        yield "the last line has no end"
    prose, opened = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(FENCE):
            if opened and line != FENCE:
                yield f"line {number}: a fence within a block"
            opened = not opened
        prose.append(CODE if opened or line.startswith(FENCE) else line)
    if opened:
        yield "the last fence is open"
    yield from _of_prose(prose)


def _of_prose(lines: list[str]) -> Iterator[str]:
    seen: set[str] = set()
    heading = ""
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            if heading and _level(line) <= _level(heading):
                yield f"line {number}: the heading before has no text"
            heading = line
        elif line:
            heading = ""
        if SEPARATOR.match(line) and number > 2 and SEPARATOR.match(lines[number - 3]):
            yield f"line {number}: a table with two headers"
        if len(line) > LONG_LINE and line in seen:
            yield f"line {number}: a line that stands twice"
        seen.add(line)


def _level(heading: str) -> int:
    return len(heading) - len(heading.lstrip("#"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_whole(page: Path) -> None:
    assert list(problems(page.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# A\n\ntext", "end"),
        ("# A\n\ncode\n```\n\n```text\n", "within"),
        ("# A\n\n```gq\ncode\n", "open"),
        ("# A\n\n## B\n\n## C\n\ntext\n", "no text"),
        ("# A\n\n| a |\n|---|\n| b |\n|---|\n| c |\n", "two headers"),
        (f"# A\n\n{'long ' * 20}\n{'long ' * 20}\n", "twice"),
    ],
)
def test_damage_is_found(text: str, found: str) -> None:
    (problem,) = problems(text)
    assert found in problem
