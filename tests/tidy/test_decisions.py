"""Architecture decisions: numbered without gaps, of one shape, listed with their status."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DECISIONS = Path(__file__).resolve().parents[2] / "docs" / "adr"
PAGES = sorted(DECISIONS.glob("[0-9]*.md"))
SECTIONS = ["Context", "Decision", "Consequences", "Rejected alternatives"]
STATUS = re.compile(
    r"^Status: (Accepted|Superseded by \[ADR-\d{4}\]\(\S+\)|Rejected)$", re.MULTILINE
)


def test_numbers_have_no_gaps() -> None:
    assert [int(page.name[:4]) for page in PAGES] == list(range(1, len(PAGES) + 1))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_decision_has_its_parts(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert re.match(rf"# ADR-{page.name[:4]}: \S", text)
    assert len(STATUS.findall(text)) == 1
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SECTIONS


def test_the_index_lists_every_decision_with_its_title() -> None:
    index = (DECISIONS / "README.md").read_text(encoding="utf-8")
    for page in PAGES:
        title = page.read_text(encoding="utf-8").splitlines()[0].split(": ", 1)[1]
        assert f"[{title}]({page.name})" in index
