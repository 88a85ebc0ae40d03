"""Search on a column says what the language says, whatever became of the table. Guards INV-7.

A table is filled, thinned out, changed and indexed at random, on two branches in turn. After every
step the answers of both ways, by whole columns and by indexes, are held against the definitions in
``semantics.text`` and ``semantics``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.adapters.lance import LanceTables
from omnigraph.adapters.objects import open_objects
from omnigraph.datatypes.arrow import table_schema
from omnigraph.executor.cache import ByteCache
from omnigraph.executor.search import indexed_texts as indexed
from omnigraph.executor.search import segments
from omnigraph.executor.search import text_column as texts
from omnigraph.executor.search import vector_column as vectors
from omnigraph.executor.search.corpus import TextQuery
from omnigraph.executor.search.text_column import TextColumn
from omnigraph.executor.search.vector_column import VectorColumn
from omnigraph.ir.expressions import ScoreFunc, TextFunc
from omnigraph.maintenance.indexes import plan_table, stage_steps
from omnigraph.runtime.budget import Budget
from omnigraph.semantics.search import cosine_distance, rank
from omnigraph.semantics.text import Corpus, has_any_token, has_phrase, has_similar_token, tokenize
from omnigraph.testing.examples import examples
from omnigraph.testing.kit import catalog_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from omnigraph.ports.tables import Pin, Table

[DOC] = catalog_of(
    "node Doc { slug: String @key\n body: String? @index\n vec: Vector(2)? @index }"
).nodes
SCHEMA = table_schema(DOC)

WORDS = ["fox", "dog", "Dog", "quick", "snake_case", "ΛΟΓΟΣ", "λογος"]
WORDS += ["cafe\u0301", "café", "İstanbul", "ⓐ", "\u093fक"]
BODIES = st.one_of(
    st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join), st.none(), st.text(max_size=8)
)
NUMBERS = st.sampled_from([0.0, 1.0, -1.0, 0.1, 0.3, 2.5, 1e-30, 1e30])
VECTORS = st.one_of(st.tuples(NUMBERS, NUMBERS).map(list), st.none())
DOCS = st.lists(st.tuples(BODIES, VECTORS), min_size=4, max_size=12)
BRANCHES = st.sampled_from([0, 0, 1])
PLACES = st.integers(0, 12)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("change"), BRANCHES, PLACES, BODIES, VECTORS),
        st.tuples(st.just("remove"), BRANCHES, st.lists(PLACES, min_size=1, max_size=4)),
        st.tuples(st.just("add"), BRANCHES, DOCS),
        st.tuples(st.just("index"), BRANCHES),
        st.tuples(st.just("fork")),
    ),
    min_size=1,
    max_size=6,
)
QUERIES = st.one_of(
    st.sampled_from(WORDS),
    st.lists(st.sampled_from(WORDS), min_size=2, max_size=3).map(" ".join),
    st.text(max_size=6),
)


@dataclass
class Shelf:
    """A table with two branches, beside what each should hold."""

    tables: LanceTables
    pins: list[Pin]
    rows: list[dict[str, tuple[Any, Any]]]
    cache: ByteCache = field(default_factory=lambda: ByteCache(1 << 24))
    made: int = 0

    def table(self, branch: int) -> Table:
        return self.tables.open(self.pins[branch])

    def run(self, step: tuple[Any, ...]) -> int:
        """Do one step; the branch that it changed."""
        match step:
            case ("fork",):
                self.pins[1], self.rows[1] = self.pins[0], dict(self.rows[0])
                return 1
            case ("add", branch, docs):
                self._add(int(branch), docs)
            case ("remove", branch, places):
                self._remove(int(branch), places)
            case ("change", branch, place, body, vec):
                self._change(int(branch), place, (body, vec))
            case ("index", branch):
                table = self.table(int(branch))
                self._advance(int(branch), stage_steps(table, plan_table(DOC, table, force=True)))
            case _:
                raise ValueError(step)
        return int(step[1])

    def _add(self, branch: int, docs: list[tuple[Any, Any]]) -> None:
        new = {f"d{self.made + number}": doc for number, doc in enumerate(docs)}
        self.made += len(docs)
        self.rows[branch] |= new
        self._advance(branch, self.table(branch).stage_change(insert=as_rows(new)))

    def _remove(self, branch: int, places: list[int]) -> None:
        slugs = [slug for place, slug in enumerate(self.rows[branch]) if place in places]
        found = self._located(branch, slugs)
        for slug in slugs:
            del self.rows[branch][slug]
        self._advance(branch, self.table(branch).stage_change(delete=found["_rowaddr"].to_numpy()))

    def _change(self, branch: int, place: int, doc: tuple[Any, Any]) -> None:
        slugs = list(self.rows[branch])[place : place + 1]
        if slugs:
            self.rows[branch][slugs[0]] = doc
            found = self._located(branch, slugs)
            replace = (found["_rowaddr"].to_numpy(), as_rows({slugs[0]: doc}))
            self._advance(branch, self.table(branch).stage_change(replace=replace))

    def _located(self, branch: int, slugs: list[str]) -> pa.Table:
        chosen = pa.compute.field("id").isin(pa.array(slugs, pa.string()))
        return self.table(branch).scan(["id"], filter=chosen, row_addresses=True)

    def _advance(self, branch: int, staged: Any) -> None:
        if staged is not None:
            self.pins[branch] = self.tables.commit(self.pins[branch], staged, operation_id="x")


def as_rows(docs: dict[str, tuple[Any, Any]]) -> pa.Table:
    return pa.table(
        {
            "id": list(docs),
            "slug": list(docs),
            "body": pa.array([body for body, _ in docs.values()], pa.string()),
            "vec": pa.array([vec for _, vec in docs.values()], pa.list_(pa.float32(), 2)),
        },
        schema=SCHEMA,
    )


@dataclass
class Found:
    """A table with its search columns, and rows by name."""

    ids: list[str]
    text: TextColumn
    vectors: VectorColumn

    def named(self, rows: np.ndarray) -> list[str]:
        return [self.ids[row] for row in rows.tolist()]


def opened(shelf: Shelf, branch: int, cache: ByteCache) -> Found:
    table, meter = shelf.table(branch), Budget().start()
    return Found(
        table.scan(["id"])["id"].to_pylist(),
        TextColumn(table, "body", cache, meter),
        VectorColumn(table, "vec", cache, meter),
    )


def by_columns(shelf: Shelf, branch: int) -> Iterator[Found]:
    with patch.object(segments, "_PART_ROWS_MIN", 4):
        yield opened(shelf, branch, shelf.cache)


def by_index(shelf: Shelf, branch: int) -> Iterator[Found]:
    """Reading a whole column would be too dear, and no index names too many rows."""
    with (
        patch.object(texts, "_READ_ROWS", -1),
        patch.object(texts, "_SECONDS_PER_TEXT", 1e9),
        patch.object(texts, "_TAKE_SHARE", 0),
        patch.object(indexed, "_NAMED_SHARE", 0),
        patch.object(vectors, "_TAKE_SHARE", 0),
    ):
        yield opened(shelf, branch, ByteCache(0))


WAYS = (by_columns, by_index)


def check_text(found: Found, rows: dict[str, tuple[Any, Any]], query: str) -> None:
    bodies = {slug: body for slug, (body, _) in rows.items()}
    predicates: dict[TextQuery, Callable[[str], bool]] = {
        TextQuery(TextFunc.SEARCH, query): lambda body: has_any_token(body, query),
        TextQuery(TextFunc.MATCH_TEXT, query): lambda body: has_phrase(body, query),
        TextQuery(TextFunc.FUZZY, query, 1): lambda body: has_similar_token(body, query, 1),
        TextQuery(TextFunc.FUZZY, query, 2): lambda body: has_similar_token(body, query, 2),
    }
    for asked, holds in predicates.items():
        expected = {slug: None if body is None else holds(body) for slug, body in bodies.items()}
        assert set(found.named(found.text.matching(asked))) == {
            slug for slug, truth in expected.items() if truth
        }
        truth = found.text.matches(asked)
        unknown = np.zeros(len(found.ids), bool) if truth.unknown is None else truth.unknown
        told = [None if u else bool(y) for y, u in zip(truth.yes, unknown, strict=True)]
        assert told == [expected[slug] for slug in found.ids]
    corpus = Corpus(bodies.values())
    scores = {
        slug: None if body is None else corpus.score(body, tokenize(query))
        for slug, body in bodies.items()
    }
    values, nulls = found.text.scores(query)
    nulls = np.zeros(len(values), bool) if nulls is None else nulls
    assert [None if n else v for v, n in zip(values.tolist(), nulls, strict=True)] == [
        scores[slug] for slug in found.ids
    ], "not a bit of a score differs"
    check_ranking(found, ScoreFunc.BM25, scores, query)


def check_ranking(
    found: Found, func: ScoreFunc, scores: dict[str, float | None], query: Any
) -> None:
    places = rank(func, {(slug,): score for slug, score in scores.items()})
    best_first = [slug for (slug,) in places]
    for count in (1, 3, 100):
        if func is ScoreFunc.BM25:
            ranked = found.text.best(query, count)
        else:
            ranked = found.vectors.nearest(query, count)
        names = found.named(ranked.rows)
        assert ranked.scores.tolist() == [scores[name] for name in names]
        best = sorted(names, key=lambda name: places[(name,)])[:count]
        assert best == best_first[:count]
        some = np.arange(0, len(found.ids), 2)
        if func is ScoreFunc.BM25:
            among = found.text.best(query, count, some)
        else:
            among = found.vectors.nearest(query, count, some)
        chosen = [slug for slug in best_first if slug in set(found.named(some))][:count]
        assert set(chosen) <= set(found.named(among.rows)) <= set(found.named(some))


def check_vectors(found: Found, rows: dict[str, tuple[Any, Any]], query: list[float]) -> None:
    narrow = [float(np.float32(value)) for value in query]
    scores = {
        slug: None
        if vec is None
        else cosine_distance([float(np.float32(value)) for value in vec], narrow)
        for slug, (_, vec) in rows.items()
    }
    array = np.array(narrow)
    told = [None if math.isnan(value) else value for value in found.vectors.distances(array)]
    assert told == [scores[slug] for slug in found.ids]
    check_ranking(found, ScoreFunc.NEAREST, scores, array)


@settings(deadline=None, max_examples=examples(10))
@given(
    DOCS,
    STEPS,
    st.lists(QUERIES, min_size=3, max_size=4),
    st.sampled_from([[1.0, 0.0], [0.1, 0.3], [-1.0, 2.5]]),
)
def test_every_way_of_searching_gives_the_answer_of_the_definition(
    docs: list[tuple[Any, Any]],
    steps: list[tuple[Any, ...]],
    queries: list[str],
    vector: list[float],
) -> None:
    with TemporaryDirectory() as directory:
        open_objects(directory).create_root()
        tables = LanceTables(directory)
        pin = tables.create("nodes/doc", SCHEMA, operation_id="create")
        shelf = Shelf(tables, [pin, pin], [{}, {}])
        beginning = [("add", 0, docs), ("index", 0), ("fork",)]
        for place, step in enumerate([*beginning, *steps]):
            branch = shelf.run(step)
            for way in WAYS if place else ():
                for found in way(shelf, branch):
                    for query in queries:
                        check_text(found, shelf.rows[branch], query)
                    check_vectors(found, shelf.rows[branch], vector)
