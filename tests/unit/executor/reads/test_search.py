"""Search: what matches, what scores, what an order by a score retrieves."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.errors import InvalidInput, TypeFailure, Unsupported
from omnigraph.ir.expressions import ScoreFunc
from omnigraph.planner.plan import Access
from omnigraph.semantics.search import cosine_distance, fuse, rank
from omnigraph.semantics.text import Corpus
from omnigraph.testing.agreement import Question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.ports.embeddings import EmbeddingTask

NOW = dt.datetime(2026, 11, 1, 12, tzinfo=dt.UTC)
BODIES = {
    "a": "the quick brown fox",
    "b": "quick quick fox",
    "c": "lazy dog",
    "d": None,
    "e": "brown dog and fox",
}
VECTORS = {"a": [1.0, 0.0], "b": [1.0, 1.0], "c": [-1.0, 0.0], "d": None, "e": [0.0, 0.0]}


@pytest.fixture
def world(worlds: Any) -> Any:
    docs = [
        {"slug": slug, "body": body, "vec": VECTORS[slug], "pages": pages}
        for pages, (slug, body) in enumerate(BODIES.items())
    ]
    return worlds(Doc=worlds.entities("slug", *docs))


def by(order: str, limit: str = "limit 9", condition: str = "") -> str:
    return f"match {{ $d: Doc {condition} }} return {{ $d.slug }} order {{ {order} }} {limit}"


# --- predicates --------------------------------------------------------------------------------


def test_text_predicates_filter_rows(world: Any) -> None:
    def found(condition: str) -> list[str]:
        slugs = world.column(f"match {{ $d: Doc  {condition} }} return {{ $d.slug }}")
        return list(slugs)

    assert found('search($d.body, "DOG quick")') == ["a", "b", "c", "e"]
    assert found('not (search($d.body, "dog"))') == ["a", "b"]
    assert found('match_text($d.body, "brown fox")') == ["a"]
    assert found('fuzzy($d.body, "layz")') == ["c"]
    assert found('fuzzy($d.body, "qick", 1)') == ["a", "b"]


@pytest.mark.parametrize("edits", [0, 3])
def test_edits_from_a_parameter_are_checked_even_where_no_row_asks(worlds: Any, edits: int) -> None:
    query = 'match { $d: Doc  fuzzy($d.body, "x", $n) } return { $d.slug }'
    with pytest.raises(InvalidInput) as caught:
        worlds().run(query, "$n: I64", n=edits)
    assert caught.value.code == "search.edits"


# --- bm25 --------------------------------------------------------------------------------------


def test_bm25_orders_by_relevance_and_leaves_out_what_does_not_match(world: Any) -> None:
    assert world.column(by('bm25($d.body, "quick") desc')) == ["b", "a"]
    assert world.column(by('bm25($d.body, "quick") desc', limit="")) == ["b", "a"]


def test_a_bm25_column_is_zero_without_a_match_and_null_without_a_text(world: Any) -> None:
    query = 'match { $d: Doc } return { $d.slug as slug, bm25($d.body, "quick") as score }'
    scores = dict(world.rows(query))
    assert scores["c"] == 0
    assert scores["d"] is None
    assert scores["b"] > scores["a"] > 0


def test_bm25_statistics_are_those_of_all_documents_whatever_is_filtered(world: Any) -> None:
    query = 'match { $d: Doc { slug: "a" } } return { bm25($d.body, "quick fox") as score }'
    expected = Corpus(BODIES.values()).score("the quick brown fox", ["quick", "fox"])
    assert world.column(query) == [pytest.approx(expected)]


def test_equal_scores_are_ordered_by_id(worlds: Any) -> None:
    docs = worlds.entities("slug", *({"slug": slug, "body": "same"} for slug in "zxy"))
    assert worlds(Doc=docs).column(by('bm25($d.body, "same") desc')) == ["x", "y", "z"]


# --- nearest -----------------------------------------------------------------------------------


def test_nearest_orders_by_cosine_distance_and_needs_a_direction(world: Any) -> None:
    assert world.column(by("nearest($d.vec, [1.0, 0.0])")) == ["a", "b", "c"]


def test_the_distance_is_a_column(world: Any) -> None:
    query = "match { $d: Doc } return { $d.slug as slug, nearest($d.vec, [2.0, 0.0]) as distance }"
    distances = dict(world.rows(query))
    assert distances["a"] == 0
    assert distances["b"] == pytest.approx(1 - 1 / math.sqrt(2))
    assert distances["c"] == 2
    assert distances["d"] is None
    assert distances["e"] is None


def test_a_distance_may_be_missing_even_where_every_vector_is_there(worlds: Any) -> None:
    world = worlds(Spot=worlds.entities("name", {"name": "origin", "at": [0.0, 0.0]}))
    query = "match { $s: Spot } return { nearest($s.at, [1.0, 0.0]) as distance }"
    assert world.column(query) == [None]
    assert world.column(f"{query} order {{ distance }} limit 1") == []


def test_filters_come_before_ranking(world: Any) -> None:
    query = by("nearest($d.vec, [1.0, 0.0])", limit="limit 1", condition=" $d.pages > 0")
    assert world.column(query) == ["b"]


def test_a_score_may_filter(world: Any) -> None:
    query = "match { $d: Doc  nearest($d.vec, [1.0, 0.0]) < 0.5 } return { $d.slug }"
    assert world.column(query) == ["a", "b"]


class Provider:
    """Returns one vector for every text."""

    def __init__(self, vector: list[float]) -> None:
        self.vector = vector
        self.asked: list[tuple[list[str], int, str]] = []

    def embed(
        self, texts: Sequence[str], *, model: str | None, dim: int, task: EmbeddingTask
    ) -> list[list[float]]:
        assert model is None
        self.asked.append((list(texts), dim, task))
        return [self.vector for _ in texts]


def test_a_text_is_embedded_once_with_the_dimension_of_the_property(world: Any) -> None:
    provider = Provider([-1.0, 0.0])
    ir = world.compile(by("nearest($d.vec, $q)"), "$q: String")
    question = Question(ir, world.catalog, world.tables(), {"q": "hello"}, NOW, provider)
    question.require_agreement()
    provider.asked.clear()
    result = question.execute(Access.RESIDENT)
    assert [row.popitem()[1] for row in result] == ["c", "b", "a"]
    assert provider.asked == [(["hello"], 2, "query")]


def test_a_text_without_a_provider_is_refused(world: Any) -> None:
    with pytest.raises(Unsupported) as caught:
        world.run(by("nearest($d.vec, $q)"), "$q: String", q="hello")
    assert caught.value.code == "search.no_embedder"


@pytest.mark.parametrize("vector", [[0.0, 0.0]])
def test_a_query_vector_without_a_direction_is_refused_even_where_nothing_is_stored(
    worlds: Any, vector: list[float]
) -> None:
    with pytest.raises(InvalidInput) as caught:
        worlds().run(by("nearest($d.vec, $q)"), "$q: Vector(2)", q=vector)
    assert caught.value.code == "search.no_direction"


@pytest.mark.parametrize(
    ("vector", "code"),
    [([1.0, 2.0, 3.0], "search.dimension"), ([math.nan, 1.0], "search.no_direction")],
)
def test_what_a_provider_returns_is_checked(world: Any, vector: list[float], code: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        world.run(by("nearest($d.vec, $q)"), "$q: String", q="hello", embedder=Provider(vector))
    assert caught.value.code == code


def test_cosine_distance_is_zero_for_equal_directions_and_never_negative() -> None:
    assert cosine_distance((0.1, 0.3), (0.1, 0.3)) == pytest.approx(0)
    assert cosine_distance((0.1, 0.3), (0.1, 0.3)) >= 0  # type: ignore[operator]  # it has one
    assert cosine_distance((0.0, 1.0), (1.0, 0.0)) == 1
    assert cosine_distance((0.0, 0.0), (1.0, 0.0)) is None


def test_a_null_query_ranks_nothing(world: Any) -> None:
    for order in ("nearest($d.vec, $q)", "rrf(nearest($d.vec, $q), nearest($d.vec, $q))"):
        assert world.column(by(order), "$q: Vector(2)?", q=None) == []
    assert world.column(by("bm25($d.body, $q)"), "$q: String?", q=None) == []


@pytest.mark.parametrize("order", ["nearest($d.vec, [1.0, 0.0])", "HYBRID"])
def test_an_order_by_distance_or_fused_rank_without_a_limit_is_refused(
    world: Any, order: str
) -> None:
    ir = world.compile(by(order.replace("HYBRID", HYBRID)))
    with pytest.raises(InvalidInput) as caught:
        world.evaluate(replace(ir, limit=None))
    assert caught.value.code == "search.limit_required"


# --- rrf ---------------------------------------------------------------------------------------

HYBRID = 'rrf(nearest($d.vec, [1.0, 0.0]), bm25($d.body, "quick fox"))'


def test_rrf_adds_reciprocal_ranks_and_a_row_absent_from_a_ranking_gets_nothing_from_it(
    world: Any,
) -> None:
    # By distance: a, b, c. By relevance: b, a, e; d is in neither.
    query = f"match {{ $d: Doc }} return {{ $d.slug as slug, {HYBRID} as score }}"
    scores = dict(world.rows(query))
    assert scores["a"] == pytest.approx(1 / 61 + 1 / 62)
    assert scores["b"] == pytest.approx(1 / 62 + 1 / 61)
    assert scores["c"] == pytest.approx(1 / 63)
    assert scores["e"] == pytest.approx(1 / 63)
    assert scores["d"] == 0


def test_an_order_by_rrf_leaves_out_rows_of_no_ranking_and_breaks_ties_by_id(world: Any) -> None:
    assert world.column(by(f"{HYBRID} desc")) == ["a", "b", "c", "e"]


def test_rrf_ranks_only_the_rows_that_passed_the_filters(world: Any) -> None:
    query = f"match {{ $d: Doc  $d.pages > 0 }} return {{ $d.slug as slug, {HYBRID} as score }}"
    assert dict(world.rows(query))["b"] == pytest.approx(2 / 61)


def test_rrf_cannot_choose_the_rows_that_it_ranks(world: Any) -> None:
    with pytest.raises(TypeFailure) as caught:
        world.compile(f"match {{ $d: Doc  {HYBRID} > 0.0 }} return {{ $d.slug }}")
    assert caught.value.code == "T21"


def test_k_may_be_given(world: Any) -> None:
    hybrid = 'rrf(nearest($d.vec, [1.0, 0.0]), bm25($d.body, "quick fox"), $k)'
    query = f"match {{ $d: Doc }} return {{ $d.slug as slug, {hybrid} as score }}"
    assert dict(world.rows(query, "$k: I64", k=1))["c"] == pytest.approx(1 / 4)
    with pytest.raises(InvalidInput) as caught:
        world.run(query, "$k: I64", k=0)
    assert caught.value.code == "search.rrf_k"


def test_ranks_start_at_one_and_ties_go_by_ids() -> None:
    scores: dict[tuple[str, ...], float | None] = {
        ("b",): 2.0,
        ("a",): 2.0,
        ("c",): 3.0,
        ("d",): 0.0,
        ("e",): None,
    }
    assert rank(ScoreFunc.BM25, scores) == {("c",): 1, ("a",): 2, ("b",): 3}
    assert rank(ScoreFunc.NEAREST, scores) == {("d",): 1, ("a",): 2, ("b",): 3, ("c",): 4}


def test_fusing_no_rankings_gives_nothing() -> None:
    assert fuse([{}, {}], 60) == {}
