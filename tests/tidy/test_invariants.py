"""docs/invariants.md keeps its promise: every rule has a guard and a test that name it.

Guards INV-14: a rule without a test at its boundary is only a wish.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "invariants.md"

# Rules that no test names yet, because their code is not written. This tuple may only shrink.
NOT_PROVED_YET: tuple[int, ...] = ()

COMING = " (coming)"


@dataclass(frozen=True, slots=True)
class Invariant:
    """One rule and the places that its page names, each with whether it is still to come."""

    number: int
    guards: tuple[tuple[str, bool], ...]
    tests: tuple[tuple[str, bool], ...]


@cache
def invariants() -> tuple[Invariant, ...]:
    text = PAGE.read_text(encoding="utf-8")
    parts = re.split(r"^### INV-(\d+) · .+$", text, flags=re.MULTILINE)[1:]
    return tuple(
        Invariant(int(number), places(body, "Guard"), places(body, "Test"))
        for number, body in zip(parts[::2], parts[1::2], strict=True)
    )


def places(body: str, label: str) -> tuple[tuple[str, bool], ...]:
    """The names in backticks on a ``- Guard:`` or ``- Test:`` line and its continuation."""
    line = re.search(rf"^- {label}: (.+?)(?=^- |^\n|^#|\Z)", body, re.MULTILINE | re.DOTALL)
    flat = " ".join(line[1].split()) if line else ""
    found = re.finditer(rf"`([^`]+)`({re.escape(COMING)})?", flat)
    return tuple((match[1], match[2] is not None) for match in found)


def exists(place: str) -> bool:
    """A dotted module of the package, or a path from the root; an empty directory holds nothing."""
    if place.startswith("omnigraph."):
        path = ROOT / "src" / Path(*place.split("."))
        return path.with_suffix(".py").exists() or (path / "__init__.py").exists()
    path = ROOT / place
    return any(path.rglob("*.py")) if path.is_dir() else path.exists()


@cache
def numbers_named_by_tests() -> frozenset[int]:
    texts = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    return frozenset(int(number) for text in texts for number in re.findall(r"\bINV-(\d+)\b", text))


def test_the_sixteen_rules_are_numbered_in_order() -> None:
    assert [rule.number for rule in invariants()] == list(range(1, 17))


@pytest.mark.parametrize("rule", invariants(), ids=lambda rule: f"INV-{rule.number}")
def test_a_rule_names_guards_and_tests_that_exist(rule: Invariant) -> None:
    assert rule.guards, "no guard is named"
    assert rule.tests, "no test is named"
    for place, coming in (*rule.guards, *rule.tests):
        if coming:
            assert not exists(place), f"{place} has come: remove its mark in docs/invariants.md"
        else:
            assert exists(place), f"{place} does not exist"


def test_every_rule_is_named_by_a_test() -> None:
    missing = {rule.number for rule in invariants()} - numbers_named_by_tests()
    assert missing <= set(NOT_PROVED_YET), "a rule lost the test that names it"


def test_the_list_of_unproved_rules_only_shrinks() -> None:
    proved = sorted(set(NOT_PROVED_YET) & numbers_named_by_tests())
    assert not proved, f"tests name {proved} now: take them out of NOT_PROVED_YET"


def test_code_names_only_rules_that_exist() -> None:
    known = {rule.number for rule in invariants()}
    for path in (*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        named = {int(number) for number in re.findall(r"InvariantBroken\(\s*(\d+)", text)}
        named |= {int(number) for number in re.findall(r"\bINV-(\d+)\b", text)}
        assert named <= known, path
