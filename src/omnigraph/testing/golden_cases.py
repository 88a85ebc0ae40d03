"""Golden files of cases: each has a name, an input text, and the expected output.

``UPDATE_GOLDEN=1 pytest <test file>`` rewrites a file; the difference is for review.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["read_cases", "update_cases"]


def read_cases(golden: Path) -> dict[str, tuple[str, str]]:
    """Read input and expected output of each case, by its name."""
    cases = {}
    for section in golden.read_text(encoding="utf-8").split("=== ")[1:]:
        name, rest = section.split("\n", 1)
        text, expected = rest.split("\n---\n")
        cases[name] = (text, expected.strip())
    return cases


def update_cases(golden: Path, output_of: Callable[[str], str]) -> None:
    """Rewrite the expected outputs on request; tests compare with those read before."""
    if os.environ.get("UPDATE_GOLDEN"):
        sections = [
            f"=== {name}\n{text}\n---\n{output_of(text)}\n"
            for name, (text, _) in read_cases(golden).items()
        ]
        golden.write_text("\n".join(sections), encoding="utf-8")
