"""Sizes and depths that the parser refuses, and does not choke on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from omnigraph.errors import SyntaxFailure
from omnigraph.language.gq import problems
from omnigraph.language.gq.parser import parse_queries
from omnigraph.language.lexer import MAX_NESTING, MAX_SOURCE_CHARS
from omnigraph.language.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable


def code_of(text: str) -> str:
    with pytest.raises(SyntaxFailure) as caught:
        parse_queries(Source(text))
    return caught.value.code


def in_match(clause: str) -> str:
    return f"query q() {{ match {{ $x: X  {clause} }} return {{ $x }} }}"


def nested(opening: str, closing: str, depth: int, inner: str = "$x.a = 1") -> str:
    return in_match(opening * depth + inner + closing * depth)


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("(", ")"),
        ("not (", ")"),
        ("exists { ", " }"),
        ("not { ", " }"),
        ("count { ", " } > 1"),
        ("$x.a = 1 or (", ")"),
    ],
)
def test_nesting_ends_at_the_limit(opening: str, closing: str) -> None:
    # The block of `match` itself is the first level.
    parse_queries(Source(nested(opening, closing, MAX_NESTING - 1)))
    assert code_of(nested(opening, closing, MAX_NESTING)) == "Q004"
    assert code_of(nested(opening, closing, 20_000)) == "Q004"


def test_unclosed_nesting_is_no_problem_either() -> None:
    assert code_of("query q() { match { " + "exists { " * 50_000) == "Q004"
    assert code_of("query q() { insert A { a: " + "[" * 50_000) == "Q000"


@pytest.mark.parametrize(
    ("build", "limit"),
    [
        (
            lambda n: in_match(f"$x.a in [{', '.join(['1'] * n)}]"),
            problems.MAX_LIST_ITEMS,
        ),
        (lambda n: in_match("$x.a = 1 " * (n - 1)), problems.MAX_CLAUSES),
        (lambda n: in_match(" or ".join(["$x.a = 1"] * n)), problems.MAX_CONDITIONS),
        (
            lambda n: f"query q({', '.join(f'$p{i}: I64' for i in range(n))}) {{ insert A {{}} }}",
            problems.MAX_PARAMS,
        ),
        (
            lambda n: "query q() { match { $x: X } return { " + "$x.a, " * n + "} }",
            problems.MAX_PROJECTIONS,
        ),
        (
            lambda n: "query q() { match { $x: X } return { $x } order { " + "$x.a, " * n + "} }",
            problems.MAX_PROJECTIONS,
        ),
        (lambda n: "query q() { insert A { " + "a: 1, " * n + "} }", problems.MAX_ASSIGNMENTS),
        (lambda n: "query q() { " + "insert A {} " * n + "}", problems.MAX_STATEMENTS),
        (
            lambda n: "\n".join(f"query q{i}() {{ insert A {{}} }}" for i in range(n)),
            problems.MAX_QUERIES,
        ),
    ],
)
def test_lists_of_everything_end_at_a_limit(build: Callable[[int], str], limit: int) -> None:
    parse_queries(Source(build(limit)))
    assert code_of(build(limit + 1)) == "Q005"


@pytest.mark.parametrize("unit", ["query q() { match { ", "("])
def test_a_text_of_the_largest_size_is_answered(unit: str) -> None:
    assert code_of((unit * MAX_SOURCE_CHARS)[:MAX_SOURCE_CHARS]) == "Q000"


def test_a_text_beyond_the_limit_is_not_read() -> None:
    assert code_of("x" * (MAX_SOURCE_CHARS + 1)) == "syntax.too_large"


def test_a_text_of_errors_is_reported_up_to_a_number() -> None:
    with pytest.raises(SyntaxFailure) as caught:
        parse_queries(Source("query q() { delete A }\n" * 500))
    assert len(caught.value.details["diagnostics"]) == problems.MAX_DIAGNOSTICS
