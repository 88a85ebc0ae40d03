"""The import contracts hold.

Among them are INV-2 (who may reach the door to visibility), INV-10 (planner and executor never see
text) and INV-11 (transport stays at the boundary).
"""

from __future__ import annotations

import configparser
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINT_IMPORTS = Path(sys.executable).parent / "lint-imports"


def test_every_import_follows_the_contracts() -> None:
    done = subprocess.run(
        [LINT_IMPORTS, "--no-cache", "--no-logo"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.fail(f"lint-imports:\n{done.stdout}{done.stderr}", pytrace=False)


def test_every_package_has_its_place_in_the_layers() -> None:
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    layers = contracts["importlinter:contract:layers"]["layers"]
    placed = set(layers.translate(str.maketrans("()|", "   ")).split())
    package = ROOT / "src" / "omnigraph"
    present = {path.parent.name for path in package.glob("*/__init__.py")}
    present |= {path.stem for path in package.glob("*.py") if not path.stem.startswith("__")}
    assert present <= placed
