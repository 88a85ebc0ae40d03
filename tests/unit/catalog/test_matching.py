"""Patterns are matched as Python and RE2 match them, but never slowly."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.catalog.matching import PatternTooExpensive, matches, parse_pattern
from omnigraph.catalog.patterns import compile_pattern, pattern_problem

ATOMS = [
    *("a", "b", ".", "-", "é", "]", r"\d", r"\w", r"\W", r"\.", r"\n", r"\x41", "[a-c]", "[^a]"),
    *(
        "[]a]",
        r"[\d_-]",
        "(a|b)",
        "(?:ab|)",
        "(?i:A)",
        "(?s:.)",
        "(?m:^b$)",
        "^",
        "$",
        r"\b",
        r"\A",
    ),
]
COUNTS = ["", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "{0,2}?"]

pieces = st.tuples(st.sampled_from(ATOMS), st.sampled_from(COUNTS)).map("".join)
flat = st.lists(pieces, max_size=4).map("".join)
patterns = st.recursive(
    flat,
    lambda inner: (
        st.builds("({}){}{}".format, inner, st.sampled_from(COUNTS), flat)
        | st.builds("{}|{}".format, inner, inner)
    ),
    max_leaves=4,
).filter(lambda pattern: pattern_problem(pattern) is None)
texts = st.text(alphabet="abcA1_-.é]\n", max_size=6)


@given(patterns, st.lists(texts, min_size=1, max_size=10))
@settings(max_examples=300, deadline=None)
def test_python_and_re2_find_the_same(pattern: str, given_texts: list[str]) -> None:
    part = parse_pattern(pattern)
    found = [matches(part, text) for text in given_texts]
    python = compile_pattern(pattern)
    assert found == [python.fullmatch(text) is not None for text in given_texts]
    # RE2 has no word boundary in an empty text, and none of its `$` stands before a line break.
    if not any(special in pattern for special in (r"\b", "$")):
        whole = rf"\A(?:{pattern})\z"
        assert found == pc.match_substring_regex(pa.array(given_texts), whole).to_pylist()


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("(a+)+b", "a" * 500, False),
        ("(a|a)*b", "a" * 500, False),
        ("a*a*a*a*a*a*b", "a" * 500, False),
        ("(([a-z]+)-?)*", "not-yet-classified-by-anyone-at-all", True),
        ("(((a{1000}|b)))", "a" * 1000, True),
        ("(x{1,30}){1,30}", "x" * 90, True),
    ],
)
def test_what_makes_backtracking_slow_does_not_matter(
    pattern: str, text: str, expected: bool
) -> None:
    assert matches(parse_pattern(pattern), text) is expected


def test_work_without_end_is_given_up() -> None:
    assert matches(parse_pattern("(" * 30 + "a*" + ")*" * 30), "a" * 50)
    with pytest.raises(PatternTooExpensive):
        matches(parse_pattern("(.|.)*"), "a" * 30_000)
