"""No text makes the schema parser do anything but return a tree or raise ``SyntaxFailure``."""

from __future__ import annotations

import random
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from omnigraph.catalog.build import build_catalog, schema_warnings
from omnigraph.catalog.canonical import digest
from omnigraph.catalog.source import print_catalog
from omnigraph.errors import SchemaFailure, SyntaxFailure
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.pg.printer import print_schema
from omnigraph.language.source import Source
from omnigraph.testing.syntax import strip_spans

if TYPE_CHECKING:
    from types import FrameType

CORPUS = Path(__file__).parents[1] / "corpus" / "pg"


def golden_texts(name: str) -> list[str]:
    sections = (CORPUS / name).read_text(encoding="utf-8").split("=== ")[1:]
    return [section.split("\n", 1)[1].split("\n---\n")[0] for section in sections]


SEEDS = [
    *(path.read_text(encoding="utf-8") for path in sorted((CORPUS / "valid").glob("*.pg"))),
    *golden_texts("errors.golden"),
    *golden_texts("checks.golden"),
    *golden_texts("plans.golden"),
]
TOKENS = sorted({word for seed in SEEDS for word in re.findall(r'"[^"\n]*"|\w+|\.\.|->|\S', seed)})


def check_findings(error: SyntaxFailure | SchemaFailure, codes: tuple[str, ...]) -> None:
    found = error.details["diagnostics"]
    assert found
    assert error.code == found[0]["code"]
    for each in found:
        assert each["line"] >= 1
        assert each["column"] >= 1
        assert each["remedy"]
        assert each["code"].startswith(codes)


def check(text: str) -> None:
    """Text to tree to text, then to catalog to text; or a typed refusal on the way."""
    source = Source(text, "fuzz.pg")
    try:
        document = parse_schema(source)
    except SyntaxFailure as error:
        check_findings(error, ("P0", "syntax."))
        return
    assert strip_spans(parse_schema(Source(print_schema(document)))) == strip_spans(document)
    schema_warnings(document)
    try:
        catalog = build_catalog(document, source)
    except SchemaFailure as error:
        check_findings(error, ("S",))
        return
    printed = Source(print_catalog(catalog), "printed.pg")
    again = build_catalog(parse_schema(printed), printed, previous=catalog)
    assert digest(again) == digest(catalog)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200))
@example("node")
@example("node A")
@example("node A {")
@example("node A { x")
@example("node A { x: ")
@example("node A { x: [")
@example("node A { x: enum(")
@example("node A { x: String @")
@example("node A { x: String @range(")
@example("edge E: A ->")
@example('node A @description("')
@example("\ufeffnode A {}")
def test_any_text(text: str) -> None:
    check(text)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=60))
def test_any_sequence_of_tokens(tokens: list[str]) -> None:
    check(" ".join(tokens))


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(SEEDS),
    st.lists(st.tuples(st.floats(0, 1), st.sampled_from(["", *TOKENS]), st.integers(0, 6))),
)
def test_schemas_with_pieces_replaced(seed: str, edits: list[tuple[float, str, int]]) -> None:
    text = seed
    for place, piece, cut in edits:
        at = int(place * len(text))
        text = text[:at] + piece + text[at + cut :]
    check(text)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(SEEDS), st.floats(0, 1), st.floats(0, 1))
def test_schemas_cut_short_and_spliced(seed: str, start: float, end: float) -> None:
    low, high = sorted((int(start * len(seed)), int(end * len(seed))))
    check(seed[:low])
    check(seed[low:high])
    check(seed[:low] + seed[high:])


@pytest.mark.parametrize("piece", ["(", "[", "{", "@a(", "enum(", "/*", '"', "node A {", "-", "\\"])
def test_a_long_run_of_one_piece_is_answered_quickly(piece: str) -> None:
    started = time.process_time()
    check(f"node A {{ x: String {piece * 50_000}")
    assert time.process_time() - started < 10


# --- guided by coverage ------------------------------------------------------------------------

WATCHED = ("/omnigraph/language/pg/", "/omnigraph/language/lexer.py", "/omnigraph/catalog/checks/")


def lines_reached(text: str) -> set[tuple[str, int, int]]:
    """The steps from line to line that a text causes in the watched modules."""
    reached: set[tuple[str, int, int]] = set()
    last = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal last
        file = frame.f_code.co_filename
        if not any(part in file for part in WATCHED):
            return None
        if event == "line":
            reached.add((file, last, frame.f_lineno))
            last = frame.f_lineno
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        check(text)
    finally:
        sys.settrace(before)
    return reached


def mutate(chance: random.Random, pool: list[str]) -> str:
    text = chance.choice(pool)
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(text))
        match chance.randint(0, 3):
            case 0:
                text = text[:at] + chance.choice(TOKENS) + text[at:]
            case 1:
                text = text[:at] + text[at + chance.randint(1, 12) :]
            case 2:
                other = chance.choice(pool)
                cut = chance.randint(0, len(other))
                text = text[:at] + other[cut : cut + chance.randint(1, 40)] + text[at:]
            case _:
                text = (
                    text[:at]
                    + chr(chance.choice((0, 10, 34, 92, 0x301, 0xD7, 0x1F600)))
                    + text[at:]
                )
    return text[:2_000]


def test_texts_that_reach_new_places_are_mutated_further(request: pytest.FixtureRequest) -> None:
    chance = random.Random(20261101)
    pool = [seed for seed in SEEDS if len(seed) < 400]
    reached: set[tuple[str, int, int]] = set()
    for seed in pool:
        reached |= lines_reached(seed)
    known = len(reached)
    for _ in range(20_000 if request.config.getoption("--whole") else 400):
        text = mutate(chance, pool)
        new = lines_reached(text) - reached
        if new:
            reached |= new
            pool.append(text)
    assert len(reached) > known
