"""The demo and its files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "examples" / "demo"


def test_the_demo_tells_its_story() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "demo.py"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    # A word of the JVM about itself, which nobody can take from it.
    said = [line for line in done.stderr.splitlines() if "incubator modules" not in line]
    assert said == []
    for chapter in range(1, 9):
        assert f"\n{chapter}. " in done.stdout
    assert "wrong.gq:3:13: error [T1]" in done.stdout
    assert "2004-07-01  Cassini" in done.stdout
    assert "unfinished writes  0" in done.stdout


def test_the_files_of_the_demo_are_formatted_and_sound(
    run_omnigraph: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    formatted = run_omnigraph("fmt", "--check", *sorted(DEMO.iterdir()))
    assert formatted.returncode == 0, formatted.stdout
    linted = run_omnigraph(
        "lint", "--query", DEMO / "missions.gq", "--schema", DEMO / "missions.pg"
    )
    assert linted.returncode == 0, linted.stdout
