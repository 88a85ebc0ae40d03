"""Every way to get a query wrong, with the message that a person sees.

The cases live in one file, each with its text and what is said about it. After a deliberate change
run ``UPDATE_GOLDEN=1 pytest <this file>`` and read the difference.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.errors import SyntaxFailure
from omnigraph.language.gq.parser import parse_queries
from omnigraph.language.gq.problems import SyntaxProblem
from omnigraph.language.source import Source
from omnigraph.testing.golden_cases import read_cases, update_cases

GOLDEN = Path(__file__).parents[3] / "corpus" / "gq" / "errors.golden"


def message_of(text: str) -> str:
    with pytest.raises(SyntaxFailure) as caught:
        parse_queries(Source(text, "queries.gq"))
    return caught.value.message


CASES = read_cases(GOLDEN)


@pytest.fixture(scope="module", autouse=True)
def golden_file() -> None:
    update_cases(GOLDEN, message_of)


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
