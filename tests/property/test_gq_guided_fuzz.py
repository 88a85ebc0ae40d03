"""The query parser under inputs that are chosen by the code that they reach."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import omnigraph.language.gq
from omnigraph.errors import SyntaxFailure
from omnigraph.language.gq.ast import Document
from omnigraph.language.gq.parser import parse_queries
from omnigraph.language.gq.printer import print_queries
from omnigraph.language.source import Source
from omnigraph.testing.guided_fuzz import fuzz
from omnigraph.testing.syntax import strip_spans

CORPUS = Path(__file__).parents[1] / "corpus" / "gq"
PACKAGE = Path(omnigraph.language.gq.__file__).parent


def small_seeds() -> list[str]:
    """One query each, so that a round is short."""
    seeds = []
    for path in sorted((CORPUS / "valid").glob("*.gq")):
        document = parse_queries(Source(path.read_text(encoding="utf-8")))
        seeds += [print_queries(Document((query,))) for query in document.queries]
    return seeds


def check(text: str) -> None:
    try:
        document = parse_queries(Source(text))
    except SyntaxFailure:
        return
    assert strip_spans(parse_queries(Source(print_queries(document)))) == strip_spans(document)


@pytest.mark.parametrize("seed", range(3))
def test_inputs_that_reach_new_code_are_followed(seed: int) -> None:
    found = fuzz(check, small_seeds(), package=PACKAGE, rounds=300, random=Random(seed))
    # The seeds are all correct: their mutations must have found their way into the error branches.
    assert len(found) > 20


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 7))
def test_long_walks_find_nothing_either(seed: int) -> None:
    fuzz(check, small_seeds(), package=PACKAGE, rounds=20_000, random=Random(seed))
