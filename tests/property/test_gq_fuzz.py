"""No text makes the parser do anything but return a tree or raise ``SyntaxFailure``."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from omnigraph.errors import SyntaxFailure
from omnigraph.language.gq.formatter import format_queries
from omnigraph.language.gq.parser import parse_queries
from omnigraph.language.gq.printer import print_queries
from omnigraph.language.source import Source
from omnigraph.testing.syntax import strip_spans

CORPUS = Path(__file__).parents[1] / "corpus" / "gq"
SEEDS = [
    *(path.read_text(encoding="utf-8") for path in sorted((CORPUS / "valid").glob("*.gq"))),
    *(
        section.split("\n", 1)[1].split("\n---\n")[0]
        for section in (CORPUS / "errors.golden").read_text(encoding="utf-8").split("=== ")[1:]
    ),
]
TOKENS = sorted({word for seed in SEEDS for word in re.findall(r'"[^"\n]*"|\$?\w+|\S', seed)})


def check(text: str) -> None:
    source = Source(text, "fuzz.gq")
    try:
        document = parse_queries(source)
    except SyntaxFailure as error:
        for found in error.details["diagnostics"]:
            assert found["line"] >= 1
            assert found["column"] >= 1
            assert found["remedy"]
            assert found["code"].startswith(("Q0", "syntax."))
        assert error.code == error.details["diagnostics"][0]["code"]
        return
    assert strip_spans(parse_queries(Source(print_queries(document)))) == strip_spans(document)
    assert strip_spans(parse_queries(Source(format_queries(source)))) == strip_spans(document)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200))
@example("$")
@example("query")
@example("query q(")
@example("query q() {")
@example("query q() { match {")
@example('query q() { match { $a: A { x: "')
@example("query q() { match { ) ] } > < } }")
@example("query q() { match { count { exists { not { (")
@example("\ufeffquery q() { insert A {} }")
def test_any_text(text: str) -> None:
    check(text)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=60))
def test_any_sequence_of_tokens(tokens: list[str]) -> None:
    check(" ".join(tokens))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=40))
def test_any_sequence_of_tokens_inside_a_query(tokens: list[str]) -> None:
    check(f"query q($p: String) {{ match {{ $x: X {' '.join(tokens)} }} return {{ $x }} }}")


@st.composite
def mutants(draw: st.DrawFn) -> str:
    """A text of the corpus with a few edits: cut, repeat, swap, insert."""
    text = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 40)))
        piece = text[start:end]
        other = draw(st.sampled_from(SEEDS))
        at = draw(st.integers(0, len(other)))
        replacement = draw(
            st.sampled_from(["", piece * 2, piece[::-1], other[at : at + 60]])
            | st.sampled_from(TOKENS)
            | st.text(max_size=3)
        )
        text = text[:start] + replacement + text[end:]
    return text


@settings(max_examples=400, deadline=None)
@given(mutants())
def test_any_edit_of_the_corpus(text: str) -> None:
    check(text)
