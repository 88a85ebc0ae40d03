"""Every way to get the text of a schema wrong, with the message that a person sees.

The cases live in one file, each with its text and what is said about it. After a deliberate change
run ``UPDATE_GOLDEN=1 pytest <this file>`` and read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from omnigraph.errors import SyntaxFailure
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.pg.problems import SchemaSyntaxProblem
from omnigraph.language.source import Source

GOLDEN = Path(__file__).parents[3] / "corpus" / "pg" / "errors.golden"


def read_cases() -> dict[str, tuple[str, str]]:
    cases = {}
    for section in GOLDEN.read_text(encoding="utf-8").split("=== ")[1:]:
        name, rest = section.split("\n", 1)
        text, expected = rest.split("\n---\n")
        cases[name] = (text, expected.strip())
    return cases


def failure_of(text: str) -> SyntaxFailure:
    with pytest.raises(SyntaxFailure) as caught:
        parse_schema(Source(text, "schema.pg"))
    return caught.value


CASES = read_cases()


@pytest.fixture(scope="module", autouse=True)
def golden_file() -> None:
    """Writes the file anew on demand; the tests compare with what was read before."""
    if os.environ.get("UPDATE_GOLDEN"):
        sections = [
            f"=== {name}\n{text}\n---\n{failure_of(text).message}\n"
            for name, (text, _) in CASES.items()
        ]
        GOLDEN.write_text("\n".join(sections), encoding="utf-8")


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_schema_is_refused_with_place_code_and_remedy(name: str) -> None:
    text, expected = CASES[name]
    assert failure_of(text).message == expected


def test_every_error_has_a_remedy_and_every_code_is_shown() -> None:
    codes = set()
    for text, _ in CASES.values():
        for found in failure_of(text).details["diagnostics"]:
            assert found["remedy"]
            codes.add(found["code"])
    assert codes >= {problem.value for problem in SchemaSyntaxProblem}
