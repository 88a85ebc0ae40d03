"""Schemas in canonical layout."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.pg.printer import print_schema
from omnigraph.language.source import Source
from omnigraph.testing.syntax import strip_spans

CORPUS = sorted((Path(__file__).parents[3] / "corpus" / "pg" / "valid").glob("*.pg"))


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_a_schema_prints_as_its_canonical_text(path: Path) -> None:
    document = parse_schema(Source(path.read_text(encoding="utf-8"), path.name))
    printed = print_schema(document)
    assert printed == path.with_suffix(".canonical").read_text(encoding="utf-8")
    assert strip_spans(parse_schema(Source(printed))) == strip_spans(document)


def test_edges_without_bodies_stand_line_under_line() -> None:
    text = "edge A: X -> Y\nedge B: X -> Y\n\nedge C: X -> Y {\n    w: I32\n}\n\nedge D: X -> Y\n"
    assert print_schema(parse_schema(Source(text))) == text
