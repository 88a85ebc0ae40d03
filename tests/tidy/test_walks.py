"""The diagrams and walks of ARCHITECTURE.md name modules and functions that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from tools.walk import Walk, walk_insert, walk_query

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "omnigraph"
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
DIAGRAMS = re.findall(r"^```mermaid\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
WALKS = TEXT[TEXT.index("## Three walks") : TEXT.index("## Errors")]
DOTTED = re.compile(r"\b[a-z_]+(?:\.[A-Za-z_]+)+")


def exists(dotted: str) -> bool:
    """Return whether a dotted name is a package, a module, or a definition in one."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        path = SOURCE.joinpath(*parts[:length])
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if file.exists():
            return _defines(ast.parse(file.read_text(encoding="utf-8")), parts[length:])
    return False


def _defines(tree: ast.AST, names: list[str]) -> bool:
    if not names:
        return True
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = [n for n in ast.iter_child_nodes(tree) if isinstance(n, kinds) and n.name == names[0]]
    return bool(found) and _defines(found[0], names[1:])


def test_there_is_a_diagram_of_each_path() -> None:
    assert len(DIAGRAMS) == 2


@pytest.mark.parametrize("name", sorted({n for text in DIAGRAMS for n in DOTTED.findall(text)}))
def test_diagrams_name_modules_that_exist(name: str) -> None:
    assert exists(name)


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([a-z_]+(?:\.\w+)+)`", WALKS))))
def test_walks_name_functions_that_exist(name: str) -> None:
    assert exists(name)


@pytest.mark.parametrize(("walk", "title"), [(walk_query, "A query"), (walk_insert, "An insert")])
def test_a_walk_lists_functions_that_are_called(walk: object, title: str, tmp_path: Path) -> None:
    assert callable(walk)
    recorded: Walk = walk(tmp_path)
    section = WALKS[WALKS.index(f"**{title}**") :]
    table = section[section.index("| 1 |") :].split("\n\n", 1)[0]
    listed = re.findall(r"`([a-z_]+(?:\.\w+)+)`", table)
    missing = [name for name in listed if not recorded.calls_of(name)]
    assert not missing
