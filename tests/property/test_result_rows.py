"""Order, pages, groups and ranks on random rows, against arithmetic done another way."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.catalog.build import build_catalog
from omnigraph.compiler import bind_params, compile_source
from omnigraph.datatypes.arrow import table_schema
from omnigraph.ir.queries import ReadIR
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.source import Source
from omnigraph.testing.agreement import Question

NOW = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
SCHEMA = Source(
    """
    node Doc {
        slug: String @key
        n: I64?
        x: F64?
        word: String?
        body: String?
        vec: Vector(2)?
    }
    """
)
CATALOG = build_catalog(parse_schema(SCHEMA), SCHEMA)
(DOC,) = CATALOG.nodes

Doc = dict[str, Any]

words = st.sampled_from(["ant", "bee", "cat", "dog"])
bodies = st.lists(words, max_size=6).map(" ".join)
components = st.integers(-2, 2).map(float)
documents = st.fixed_dictionaries(
    {
        "slug": st.text("abc", min_size=1, max_size=3),
        "n": st.none() | st.integers(-3, 3),
        "x": st.none() | st.floats(-10, 10, width=32),
        "word": st.none() | words,
        "body": st.none() | bodies,
        "vec": st.none() | st.lists(components, min_size=2, max_size=2),
    }
)
libraries = st.lists(documents, max_size=12, unique_by=lambda document: str(document["slug"]))


def ask(library: list[Doc], body: str, params: str = "", **values: Any) -> list[tuple[Any, ...]]:
    ir = compile_source(CATALOG, f"query q({params}) {{ {body} }}")
    assert isinstance(ir, ReadIR)

    columns = {prop.name: prop.column for prop in DOC.properties}
    rows = [
        {"id": document["slug"], **{columns[name]: value for name, value in document.items()}}
        for document in library
    ]
    tables = {DOC.id: pa.Table.from_pylist(rows, schema=table_schema(DOC))}
    question = Question(ir, CATALOG, tables, bind_params(ir, values), NOW)
    _, found = question.require_agreement()
    return [tuple(row.values()) for row in found]


# --- order and pages ---------------------------------------------------------------------------

keys = st.lists(
    st.tuples(st.sampled_from(["n", "x", "word", "body"]), st.booleans()), min_size=1, max_size=3
)


def beats(first: Doc, second: Doc, order: list[tuple[str, bool]]) -> bool:
    """Whether a row comes before another: key by key, a missing value below every other."""
    for name, descending in order:
        low, high = (second, first) if descending else (first, second)
        if first[name] == second[name]:
            continue
        return low[name] is None or (high[name] is not None and low[name] < high[name])
    return bool(first["slug"] < second["slug"])


@given(libraries, keys)
def test_every_row_has_as_many_before_it_as_beat_it(
    library: list[Doc], order: list[tuple[str, bool]]
) -> None:
    clause = ", ".join(f"$d.{name} {'desc' if down else 'asc'}" for name, down in order)
    found = ask(library, f"match {{ $d: Doc }} return {{ $d.slug }} order {{ {clause} }}")
    places = {
        sum(beats(other, document, order) for other in library): document["slug"]
        for document in library
    }
    assert [slug for (slug,) in found] == [places[place] for place in range(len(library))]


@given(libraries, st.integers(1, 5))
def test_pages_neither_overlap_nor_leave_gaps(library: list[Doc], size: int) -> None:
    query = "match { $d: Doc } return { $d.slug } order { $d.n desc }"
    pages = [
        ask(
            library,
            f"{query} limit $size offset $skip",
            "$size: I64, $skip: I64",
            size=size,
            skip=skip,
        )
        for skip in range(0, len(library) + size, size)
    ]
    assert [row for page in pages for row in page] == ask(library, query)
    assert all(len(page) <= size for page in pages)


# --- groups ------------------------------------------------------------------------------------


@given(libraries)
def test_groups_fold_what_a_loop_would_fold(library: list[Doc]) -> None:
    found = ask(
        library,
        """match { $d: Doc } return {
            $d.word as word, count(*) as rows, count($d.n) as known, count(distinct $d.n) as kinds,
            sum($d.n) as total, avg($d.x) as mean, min($d.n) as low, max($d.body) as high
        }""",
    )
    assert [row[0] for row in found] == sorted(
        {document["word"] for document in library}, key=lambda word: (word is not None, word or "")
    )
    for word, rows, known, kinds, total, mean, low, high in found:
        group = [document for document in library if document["word"] == word]
        numbers = [document["n"] for document in group if document["n"] is not None]
        floats = [Fraction(document["x"]) for document in group if document["x"] is not None]
        texts = sorted(document["body"] for document in group if document["body"] is not None)
        assert (rows, known, kinds) == (len(group), len(numbers), len(set(numbers)))
        assert total == (sum(numbers) if numbers else None)
        assert low == (sorted(numbers)[0] if numbers else None)
        assert high == (texts[-1] if texts else None)
        exact = float(sum(floats) / len(floats)) if floats else None
        assert mean == (None if exact is None else pytest.approx(exact, rel=1e-12, abs=1e-12))


@given(libraries)
def test_distinct_is_the_set_of_rows(library: list[Doc]) -> None:
    found = ask(library, "match { $d: Doc } return distinct { $d.word as word, $d.n as n }")
    assert len(found) == len(set(found))
    assert set(found) == {(document["word"], document["n"]) for document in library}


# --- search ------------------------------------------------------------------------------------


def relevance(library: list[Doc], document: Doc, query: list[str]) -> float | None:
    """BM25 as the literature writes it, term by term."""
    if document["body"] is None:
        return None
    texts = [re.findall("[a-z]+", each["body"]) for each in library if each["body"] is not None]
    text = re.findall("[a-z]+", document["body"])
    mean = sum(map(len, texts)) / len(texts)
    score = 0.0
    for term in query:
        holding = sum(term in each for each in texts)
        weight = math.log((len(texts) - holding + 0.5) / (holding + 0.5) + 1)
        count = Counter(text)[term]
        if count:
            score += weight * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * len(text) / mean))
    return score


def distance(document: Doc) -> float | None:
    """Of the direction (1, 1), by the angle."""
    vector = document["vec"]
    if vector is None or vector == [0.0, 0.0]:
        return None
    angle = math.atan2(vector[1], vector[0]) - math.pi / 4
    return 1 - math.cos(angle)


@given(libraries, st.lists(words, min_size=1, max_size=3))
def test_bm25_scores_every_text_and_retrieves_those_that_match(
    library: list[Doc], query: list[str]
) -> None:
    text = " ".join(query)
    columns = "$d.slug as slug, bm25($d.body, $q) as score"
    scores = dict(ask(library, f"match {{ $d: Doc }} return {{ {columns} }}", "$q: String", q=text))
    for document in library:
        expected = relevance(library, document, query)
        got = scores[document["slug"]]
        assert got == (None if expected is None else pytest.approx(expected))
    ordered = ask(
        library,
        f"match {{ $d: Doc }} return {{ {columns} }} order {{ score desc }}",
        "$q: String",
        q=text,
    )
    assert {slug for slug, _ in ordered} == {
        document["slug"]
        for document in library
        if document["body"] and set(query) & set(document["body"].split())
    }
    assert [score for _, score in ordered] == sorted((score for _, score in ordered), reverse=True)


@given(libraries)
def test_distances_are_those_of_the_angles(library: list[Doc]) -> None:
    query = "match { $d: Doc } return { $d.slug, nearest($d.vec, [1.0, 1.0]) as distance }"
    found = dict(ask(library, query))
    for document in library:
        expected = distance(document)
        got = found[document["slug"]]
        assert got == (None if expected is None else pytest.approx(expected, abs=1e-9))


@given(libraries, words, st.integers(1, 60))
def test_rrf_adds_one_over_k_plus_the_number_of_rows_that_are_not_worse(
    library: list[Doc], word: str, k: int
) -> None:
    columns = "$d.slug as slug, nearest($d.vec, [1.0, 1.0]) as far, bm25($d.body, $q) as score"
    fused = "rrf(nearest($d.vec, [1.0, 1.0]), bm25($d.body, $q), $k)"
    rows = ask(
        library,
        f"match {{ $d: Doc }} return {{ {columns}, {fused} as fused }}",
        "$q: String, $k: I64",
        q=word,
        k=k,
    )
    near = {slug: far for slug, far, _, _ in rows if far is not None}
    relevant = {slug: -score for slug, _, score, _ in rows if score}
    for slug, _, _, value in rows:
        expected = sum(
            1 / (k + sum((ranking[each], each) <= (ranking[slug], slug) for each in ranking))
            for ranking in (near, relevant)
            if slug in ranking
        )
        assert value == pytest.approx(expected)


@given(libraries, words, st.integers(0, 4))
def test_an_order_by_rrf_is_the_head_of_the_fused_ranking(
    library: list[Doc], word: str, limit: int
) -> None:
    fused = "rrf(nearest($d.vec, [1.0, 1.0]), bm25($d.body, $q))"
    columns = f"$d.slug as slug, {fused} as fused"
    every = ask(library, f"match {{ $d: Doc }} return {{ {columns} }}", "$q: String", q=word)
    ranked = sorted((row for row in every if row[1] > 0), key=lambda row: (-row[1], row[0]))
    head = ask(
        library,
        f"match {{ $d: Doc }} return {{ {columns} }} order {{ fused desc }} limit $n",
        "$q: String, $n: I64",
        q=word,
        n=limit,
    )
    assert head == ranked[:limit]
