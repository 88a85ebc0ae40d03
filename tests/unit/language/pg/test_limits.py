"""Limits of the parser: what is too much is refused, and soon."""

from __future__ import annotations

import time

import pytest

from omnigraph.datatypes.types import MAX_ENUM_VALUES
from omnigraph.errors import SyntaxFailure
from omnigraph.language.diagnostics import MAX_REPORTED
from omnigraph.language.lexer import MAX_SOURCE_CHARS
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source


def failure_of(text: str) -> SyntaxFailure:
    with pytest.raises(SyntaxFailure) as caught:
        parse_schema(Source(text, "schema.pg"))
    return caught.value


def test_an_enum_has_a_limit() -> None:
    values = [f"v{number}" for number in range(MAX_ENUM_VALUES)]
    parse_schema(Source(f"node A {{ x: enum({', '.join(values)}) }}"))
    error = failure_of(f"node A {{ x: enum({', '.join(values)}, more) }}")
    assert error.code == "P006"
    assert "10,000" in error.message


def test_an_annotation_has_a_limit() -> None:
    assert failure_of(f"node A @note({', '.join('1' * 65)}) {{}}").code == "P008"


def test_after_very_many_errors_the_rest_is_not_read() -> None:
    error = failure_of("node A { " + "x: Strin\n" * 10_000 + "}")
    assert len(error.details["diagnostics"]) == MAX_REPORTED
    assert error.message.endswith("… and 50 more")


def test_after_very_many_lexical_errors_nothing_is_parsed() -> None:
    error = failure_of("node a {" + "# x\n" * 10_000)
    assert {found["code"] for found in error.details["diagnostics"]} == {"syntax.illegal_character"}


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "piece",
    [
        "# ",
        "x:A ",
        '"',
        pytest.param("node ", marks=SLOW),
        pytest.param("@a ", marks=SLOW),
        pytest.param("\\", marks=SLOW),
        pytest.param("node A{x:enum(a,a)}\n", marks=SLOW),
        pytest.param("a.b.c ", marks=SLOW),
        pytest.param("1e999 ", marks=SLOW),
        pytest.param("/*", marks=SLOW),
        pytest.param("é", marks=SLOW),
    ],
)
def test_a_text_of_the_largest_size_is_answered(piece: str) -> None:
    started = time.process_time()
    failure_of(piece * (MAX_SOURCE_CHARS // len(piece)))
    assert time.process_time() - started < 30
