"""Which regular expressions a schema may use."""

from __future__ import annotations

import pytest

from omnigraph.catalog.patterns import PATTERN_CHARS_MAX, compile_pattern, pattern_problem


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "[A-Z]{2}[0-9]{6}",
        "[^@ ]+@[^@ ]+",
        r"\d+\.\d*",
        r"\w\W\s\S\b\B\A\n\t\r\f\x41",
        "(a|b)*c?",
        "(?:a|b)+?",
        "(?i:abc)",
        "(?ims:abc)",
        r"[\]\[\\-]",
        "[]a]",
        "[^]a]",
        r"[\d\-&|~]",
        "a{3}b{1,}c{1,5}",
        r"\{literal\}",
        "a}b]",
        "^anchored$",
        "grüße",
    ],
)
def test_what_all_engines_share_is_allowed(pattern: str) -> None:
    assert pattern_problem(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(?=a)", "lookaround"),
        ("(?!a)", "lookaround"),
        ("(?<=a)b", "lookaround"),
        ("(?<!a)b", "lookaround"),
        (r"(a)\1", "backreference"),
        ("(?P<n>a)(?P=n)", "named groups"),
        ("(?P=n)", "backreferences"),
        ("(?<n>a)", "named groups"),
        ("(?>a)", "not shared"),
        ("(?(1)a|b)", "not shared"),
        ("(?#note)", "not shared"),
        ("(?i)a", "not shared"),
        ("(?x:a b)", "not shared"),
        ("(?-i:a)", "not shared"),
        ("a*+", "possessive"),
        ("a++", "possessive"),
        ("a?+", "possessive"),
        ("a{1,2}+", "possessive"),
        ("a{1001}", "more than 1000 times"),
        ("a{1,99999999999999999999}", "more than 1000 times"),
        ("((a{2,}){500}){2}", "more than 1000 times"),
        ("(b|a{40}){30}", "more than 1000 times"),
        (".{1000}" * 11, "10,000 characters"),
        (r"[a\b]", "inside"),
        ("a{,5}", "literal `{`"),
        ("a{", "literal `{`"),
        (r"\Z", "escape"),
        (r"\z", "escape"),
        (r"\p{L}", "escape"),
        (r"\u0041", "escape"),
        (r"[\Q]", "escape"),
        ("[[:alpha:]]", "inside"),
        ("[a-z&&[^b]]", "inside"),
        ("[a--b]", "inside"),
        ("(a", "does not compile"),
        ("a)", "does not compile"),
        ("[a", "does not compile"),
        ("*a", "does not compile"),
        ("a\\", "does not compile"),
        ("[z-a]", "does not compile"),
        ("(" * 40 + ")" * 40, "nested"),
        ("(?:" * 40 + ")" * 40, "nested"),
        ("a" * (PATTERN_CHARS_MAX + 1), "characters"),
    ],
)
def test_what_an_engine_lacks_or_reads_differently_is_refused(pattern: str, reason: str) -> None:
    assert reason in (pattern_problem(pattern) or "")


def test_classes_are_ascii() -> None:
    digits = compile_pattern(r"\d+")
    assert digits.fullmatch("123")
    assert not digits.fullmatch("١٢٣")
