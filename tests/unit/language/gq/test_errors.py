"""Every way to get a query wrong, with the message that a person sees.

The cases live in one file, each with its text and what is said about it. After a deliberate change
run ``UPDATE_GOLDEN=1 pytest <this file>`` and read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from omnigraph.errors import SyntaxFailure
from omnigraph.language.gq.parser import parse_queries
from omnigraph.language.gq.problems import SyntaxProblem
from omnigraph.language.source import Source

GOLDEN = Path(__file__).parents[3] / "corpus" / "gq" / "errors.golden"


def read_cases() -> dict[str, tuple[str, str]]:
    cases = {}
    for section in GOLDEN.read_text(encoding="utf-8").split("=== ")[1:]:
        name, rest = section.split("\n", 1)
        text, expected = rest.split("\n---\n")
        cases[name] = (text, expected.strip())
    return cases


def message_of(text: str) -> str:
    with pytest.raises(SyntaxFailure) as caught:
        parse_queries(Source(text, "queries.gq"))
    return caught.value.message


CASES = read_cases()


@pytest.fixture(scope="module", autouse=True)
def golden_file() -> None:
    """Writes the file anew on demand; the tests compare with what was read before."""
    if os.environ.get("UPDATE_GOLDEN"):
        sections = [
            f"=== {name}\n{text}\n---\n{message_of(text)}\n" for name, (text, _) in CASES.items()
        ]
        GOLDEN.write_text("\n".join(sections), encoding="utf-8")


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_query_is_refused_with_place_code_and_remedy(name: str) -> None:
    text, expected = CASES[name]
    assert message_of(text) == expected


def test_every_remedy_is_given_and_every_code_is_shown_once() -> None:
    codes = set()
    for name, (text, _) in CASES.items():
        with pytest.raises(SyntaxFailure) as caught:
            parse_queries(Source(text, "queries.gq"))
        for found in caught.value.details["diagnostics"]:
            codes.add(found["code"])
            assert found["remedy"], (name, found)
    # Limits are too large for a golden file; they have tests of their own.
    assert codes >= {problem.value for problem in SyntaxProblem} - {
        SyntaxProblem.TOO_DEEP,
        SyntaxProblem.TOO_MANY,
    }
