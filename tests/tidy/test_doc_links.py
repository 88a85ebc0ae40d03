"""Links in the documents lead somewhere, and every page can be found from the two front pages."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[2]
FRONT_PAGES = (ROOT / "README.md", ROOT / "docs" / "README.md")
PAGES = sorted((*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")))

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1\s*$", re.MULTILINE | re.DOTALL)
OUTSIDE = re.compile(r"[a-z][a-z0-9+.-]*:")


def links_of(page: Path) -> list[tuple[Path, str]]:
    """The local targets of a page, each with its anchor or an empty one."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    found = []
    for target in LINK.findall(text):
        if OUTSIDE.match(target):
            continue
        path, _, anchor = unquote(target).partition("#")
        found.append(((page.parent / path).resolve() if path else page, anchor))
    return found


def anchors_of(page: Path) -> set[str]:
    """The anchors that a forge gives to the headings of a page."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    anchors: set[str] = set()
    for title in re.findall(r"^#{1,6}\s+(.*?)\s*#*$", text, re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", "").lower()
        slug = re.sub(r"[^\w\s-]", "", plain).strip().replace(" ", "-")
        repeats = sum(1 for known in anchors if re.fullmatch(rf"{re.escape(slug)}(-\d+)?", known))
        anchors.add(f"{slug}-{repeats}" if slug in anchors else slug)
    return anchors


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page: Path) -> None:
    broken = []
    for target, anchor in links_of(page):
        if not target.exists():
            broken.append(f"{target} does not exist")
        elif anchor and target.suffix == ".md" and anchor not in anchors_of(target):
            broken.append(f"{target.name} has no heading #{anchor}")
    assert not broken, "\n".join(broken)


def test_every_page_is_reachable_from_a_front_page() -> None:
    reached: set[Path] = set()
    waiting = [page for page in FRONT_PAGES if page.exists()]
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        waiting += [target for target, _ in links_of(page) if target.suffix == ".md"]
    lost = [str(page.relative_to(ROOT)) for page in PAGES if page not in reached]
    assert not lost, lost
