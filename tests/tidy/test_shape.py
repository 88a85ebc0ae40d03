"""Sizes and names of the source, as CONTRIBUTING.md promises them."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))

MODULE_LINES_MAX = 500
# A grammar reads best in one piece.
GRAMMAR_LINES_MAX = 900
GRAMMAR_MODULES = frozenset({"parser.py", "ast.py"})
FUNCTION_LINES_MAX = 70

# Words that say "somewhere": a module is named after what it holds.
EMPTY_WORDS = frozenset({"utils", "util", "helpers", "helper", "common", "manager", "misc"})


def test_modules_stay_within_their_limit() -> None:
    too_long = []
    for path in SOURCES:
        limit = GRAMMAR_LINES_MAX if path.name in GRAMMAR_MODULES else MODULE_LINES_MAX
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > limit:
            too_long.append(f"{path.relative_to(ROOT)}: {lines} lines, limit {limit}")
    assert not too_long, "\n".join(too_long)


def test_functions_stay_within_their_limit() -> None:
    too_long = []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                place = f"{path.relative_to(ROOT)}:{node.lineno}"
                too_long.append(f"{place}: {node.name} has {lines} lines")
    assert not too_long, f"limit {FUNCTION_LINES_MAX}:\n" + "\n".join(too_long)


def test_module_names_say_what_is_inside() -> None:
    vague = [
        str(path.relative_to(ROOT))
        for path in SOURCES
        if EMPTY_WORDS & {path.stem, *path.relative_to(ROOT).parts}
    ]
    assert not vague, vague


def test_values_are_frozen_by_our_own_decorator() -> None:
    """The standard library's costs twenty times as much at every start (ADR-0030)."""
    slow = [
        str(path.relative_to(ROOT))
        for path in SOURCES
        if path.name != "frozen.py"
        and "@dataclass(frozen=True, slots=True)\n" in path.read_text(encoding="utf-8")
    ]
    assert not slow, f"write @frozen of omnigraph.frozen instead: {slow}"
