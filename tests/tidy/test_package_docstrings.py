"""A package docstring lists the modules of its directory in reading order."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "omnigraph"
# A list item: ``- ``first``, ``second``: what they do``.
ITEM = re.compile(r"^[-*] (``\w+``(?:,\s+``\w+``)*):", re.MULTILINE)
NAME = re.compile(r"``(\w+)``")

# The root is the page of the library; ARCHITECTURE.md lists its packages.
PACKAGES = sorted(
    path.parent.relative_to(SOURCE).as_posix()
    for path in SOURCE.rglob("__init__.py")
    if path.parent != SOURCE
)


def modules_in(package: Path) -> set[str]:
    """Return the names of the modules and packages directly below a package."""
    files = {path.stem for path in package.glob("*.py")} - {"__init__", "__main__"}
    return files | {path.parent.name for path in package.glob("*/__init__.py")}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_docstring_lists_the_modules_of_its_directory(package: str) -> None:
    directory = SOURCE / package
    docstring = ast.get_docstring(ast.parse((directory / "__init__.py").read_text())) or ""
    modules = modules_in(directory)
    missing = modules - set(NAME.findall(docstring))
    assert not missing, f"{package}: the docstring omits {sorted(missing)}"
    listed = {name for item in ITEM.findall(docstring) for name in NAME.findall(item)}
    assert listed <= modules, f"{package}: the docstring lists {sorted(listed - modules)}"
