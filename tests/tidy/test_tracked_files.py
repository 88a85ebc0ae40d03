"""What may not be in the repository: paths of one machine, addresses of indexes, loose ends."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Names that plainly stand for nobody.
PLACEHOLDERS = "(?:somebody|user|you|key|secret|password)"

FORBIDDEN = {
    "a path of one machine": re.compile(
        rf"(?<![\w./~>-])/(?:home|Users|root|work)/(?!{PLACEHOLDERS}\b)[\w.-]+"
    ),
    "the address of a package index": re.compile(
        r"(?:extra-)?index-url|find-links|https?://\S*/simple\b|https?://(?:pypi|files\.pythonhosted)\."
    ),
    "a private network address": re.compile(
        r"\b(?:10(?:\.\d{1,3}){3}|192\.168(?:\.\d{1,3}){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d{1,3}){2})\b"
    ),
    "credentials in an address": re.compile(
        rf"://(?!{PLACEHOLDERS}:{PLACEHOLDERS}@)[^/\s:@{{}}$]+:[^/\s@{{}}$]+@"
    ),
}


@cache
def tracked_texts() -> tuple[tuple[Path, str], ...]:
    """Every tracked text file but this one, which has to spell what it forbids."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found = []
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if not path.is_file() or path == Path(__file__).resolve():
            continue
        try:
            found.append((path, path.read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            continue
    return tuple(found)


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_tracked_file_holds(what: str) -> None:
    hits = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path, text in tracked_texts()
        for number, line in enumerate(text.splitlines(), 1)
        if FORBIDDEN[what].search(line)
    ]
    assert not hits, "\n".join(hits)


def test_constraints_pin_exact_versions_and_no_addresses() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    loose = [
        line
        for line in lines
        if line.strip() and not re.fullmatch(r"#.*|[A-Za-z0-9_.\[\]-]+==[^\s@]+(?:\s*;.*)?", line)
    ]
    assert not loose, loose


def test_silenced_checks_name_their_rule() -> None:
    bare = re.compile(r"#\s*noqa(?!:)|#\s*type:\s*ignore(?!\[)")
    hits = [
        f"{path.relative_to(ROOT)}:{number}"
        for path, text in tracked_texts()
        if path.suffix == ".py"
        for number, line in enumerate(text.splitlines(), 1)
        if bare.search(line)
    ]
    assert not hits, hits
