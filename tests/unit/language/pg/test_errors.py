"""Every way to get the text of a schema wrong, with the message that a person sees.

The cases live in one file, each with its text and what is said about it. After a deliberate change
run ``UPDATE_GOLDEN=1 pytest <this file>`` and read the difference.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.errors import SyntaxFailure
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.pg.problems import SchemaSyntaxProblem
from omnigraph.language.source import Source
from omnigraph.testing.golden_cases import read_cases, update_cases

GOLDEN = Path(__file__).parents[3] / "corpus" / "pg" / "errors.golden"


def failure_of(text: str) -> SyntaxFailure:
    with pytest.raises(SyntaxFailure) as caught:
        parse_schema(Source(text, "schema.pg"))
    return caught.value


CASES = read_cases(GOLDEN)


@pytest.fixture(scope="module", autouse=True)
def golden_file() -> None:
    update_cases(GOLDEN, lambda text: failure_of(text).message)


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
