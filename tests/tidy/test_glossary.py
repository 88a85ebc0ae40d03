"""The glossary holds in the source: no class, function or module is named by a refused term."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "omnigraph"
GLOSSARY = ROOT / "docs" / "glossary.md"

# Names that exist and must go. Only remove entries.
EXCEPTIONS: frozenset[str] = frozenset(
    {
        "executor/columns/pinned_columns:let_go",
        "executor/columns/row_spaces:_Shelf",
        "executor/operators/apply:_spread",
        "executor/rows/bindings:part",
        "executor/run:let_go",
        "executor/traversal/adjacency:let_go",
        "planner/passes/join_order:_settle",
        "recovery/intents:remove_crumbs",
        "recovery/quarantine:heal",
        "recovery/sweep:_forget_all_but",
        "recovery/sweep:_settle",
        "versioning/heads:forget",
    }
)


@dataclass(frozen=True)
class RefusedTerms:
    """Terms of the column *Not*, in lower case without underscores."""

    words: frozenset[str]
    # Refused only as a complete name.
    whole: frozenset[str]


def refused_terms(text: str) -> RefusedTerms:
    """Read the last column of the tables."""
    words: set[str] = set()
    whole: set[str] = set()
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or len(cells) != 3 or cells[2] in ("Not", "---"):
            continue
        for term in filter(None, (each.strip() for each in cells[2].split(","))):
            (whole if term.startswith("*") else words).add(term.strip("*").replace("_", " "))
    return RefusedTerms(frozenset(words), frozenset(whole))


def words_of(name: str) -> list[str]:
    """Split ``snake_case`` and ``CamelCase`` into lower-case words."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_", " ", name)
    return spaced.lower().split()


def is_refused(name: str, terms: RefusedTerms) -> bool:
    """Whether a name contains a refused word, or is a term that is refused alone."""
    text = " ".join(words_of(name))
    return text in terms.whole or any(f" {term} " in f" {text} " for term in terms.words)


def names() -> Iterator[tuple[str, str]]:
    """Yield every module, class and function with its place."""
    for path in sorted(SOURCE.rglob("*.py")):
        module = path.relative_to(SOURCE).with_suffix("").as_posix()
        yield module, path.parent.name if path.stem == "__init__" else path.stem
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{module}:{node.name}", node.name


def test_terms_are_read_from_the_glossary() -> None:
    terms = refused_terms(GLOSSARY.read_text(encoding="utf-8"))
    assert {"attempt", "door", "crumbs", "may hold"} <= terms.words
    assert {"place", "warm"} <= terms.whole


def test_names_are_compared_by_words() -> None:
    terms = RefusedTerms(frozenset({"door", "let go"}), frozenset({"place"}))
    refused = [
        name
        for name in ("open_door", "DoorKeeper", "let_go", "place", "Place", "indoors", "placed")
        if is_refused(name, terms)
    ]
    assert refused == ["open_door", "DoorKeeper", "let_go", "place", "Place"]
    assert not is_refused("place_of", terms)


def test_no_name_is_a_refused_term() -> None:
    terms = refused_terms(GLOSSARY.read_text(encoding="utf-8"))
    refused = {place for place, name in names() if is_refused(name, terms)}
    new = sorted(refused - EXCEPTIONS)
    assert not new, "use the terms of docs/glossary.md:\n" + "\n".join(new)
    assert refused >= EXCEPTIONS, f"remove the exceptions: {sorted(EXCEPTIONS - refused)}"
