"""Queries and what they compile to, as pairs of files.

``accepted/x.gq`` stands beside ``x.ir``, the printed IR; ``refused/x.gq`` beside ``x.txt``, the
error of each query. Run with ``OMNIGRAPH_WRITE_FIXTURES=1`` to write the second half of every pair
anew, and read the difference before committing it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from omnigraph.compiler import compile_document, compile_query
from omnigraph.errors import TypeFailure
from omnigraph.ir.printer import print_ir
from omnigraph.language.gq.parser import parse_queries
from omnigraph.language.source import Source

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog

FIXTURES = Path(__file__).parents[2] / "fixtures" / "compiler"
WRITE = "OMNIGRAPH_WRITE_FIXTURES" in os.environ


def cases(kind: str) -> list[Path]:
    return sorted((FIXTURES / kind).glob("*.gq"))


def check(expected: Path, actual: str) -> None:
    if WRITE:
        expected.write_text(actual, encoding="utf-8")
    assert actual == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", cases("accepted"), ids=lambda path: path.stem)
def test_an_accepted_query_compiles_to_the_ir_beside_it(path: Path, harbour: Catalog) -> None:
    source = Source(path.read_text(encoding="utf-8"), path.name)
    compiled = compile_document(harbour, parse_queries(source), source)
    check(path.with_suffix(".ir"), "\n".join(print_ir(query, harbour) for query in compiled))


@pytest.mark.parametrize("path", cases("refused"), ids=lambda path: path.stem)
def test_a_refused_query_fails_with_the_text_beside_it(path: Path, harbour: Catalog) -> None:
    source = Source(path.read_text(encoding="utf-8"), path.name)
    document = parse_queries(source)
    errors = []
    for query in document.queries:
        with pytest.raises(TypeFailure) as caught:
            compile_query(harbour, document, source, query.name)
        errors.append(f"== {query.name}\n{caught.value.message}\n")
    check(path.with_suffix(".txt"), "\n".join(errors))
