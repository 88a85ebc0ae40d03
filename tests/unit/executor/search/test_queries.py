"""Search as users meet it: typed refusals before the first row, embedded texts, changed schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.errors import InvalidInput, StorageFault, Unsupported
from omnigraph.executor.search import segments
from omnigraph.executor.search import vector_column as vectors
from omnigraph.executor.search.vector_column import VectorColumn
from omnigraph.graph.open import init_graph, open_graph
from omnigraph.ports.embeddings import EmbeddingTask
from omnigraph.testing.embedder import WordEmbedder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from omnigraph.api.graph import Graph

SCHEMA = """node Doc {
    slug: String @key
    body: String?
    vec: Vector(3)? @embed("body", model="toy")
}"""
DOCS = {"a": "quick fox", "b": "lazy dog", "c": "quick dog", "d": None}


def records(docs: dict[str, str | None]) -> list[dict[str, Any]]:
    texts = [body or "" for body in docs.values()]
    embedded = WordEmbedder().embed(texts, model="toy", dim=3, task=EmbeddingTask.DOCUMENT)
    return [
        {"type": "Doc", "data": {"slug": slug, "body": body, "vec": vec if body else None}}
        for (slug, body), vec in zip(docs.items(), embedded, strict=True)
    ]


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = init_graph(tmp_path / "g.omni", SCHEMA, durability="process", embedder=WordEmbedder())
    graph.load(records(DOCS), mode="append")
    return graph


def slugs(graph: Graph, text: str, **params: Any) -> list[str]:
    return [row["d.slug"] for row in graph.query(text, params).rows()]


def near(kind: str = "Vector(3)", limit: str = "limit 2") -> str:
    return (
        f"query q($q: {kind}) {{ match {{ $d: Doc }} return {{ $d.slug }} "
        f"order {{ nearest($d.vec, $q) }} {limit} }}"
    )


def test_a_text_is_embedded_with_the_model_of_the_property(graph: Graph) -> None:
    assert slugs(graph, near("String"), q="quick fox")[0] == "a"
    [vector] = WordEmbedder().embed(["quick fox"], model="toy", dim=3, task=EmbeddingTask.QUERY)
    assert slugs(graph, near(), q=vector) == slugs(graph, near("String"), q="quick fox")


def test_without_a_provider_a_text_has_no_vector(graph: Graph) -> None:
    with pytest.raises(Unsupported) as caught:
        slugs(open_graph(graph.uri), near("String"), q="quick fox")
    assert caught.value.code == "search.no_embedder"


def test_a_provider_that_answers_with_too_many_vectors_is_at_fault(graph: Graph) -> None:
    class Babbling:
        def embed(
            self, texts: Sequence[str], *, model: str | None, dim: int, task: EmbeddingTask
        ) -> list[list[float]]:
            return [[1.0] * dim] * (len(texts) + 1)

    with pytest.raises(StorageFault) as caught:
        slugs(open_graph(graph.uri, embedder=Babbling()), near("String"), q="quick fox")
    assert caught.value.code == "embed.answer"


def test_a_provider_with_another_dimension_is_told_so(graph: Graph) -> None:
    class Short:
        def embed(
            self, texts: Sequence[str], *, model: str | None, dim: int, task: EmbeddingTask
        ) -> list[list[float]]:
            return [[1.0]] * len(texts)

    with pytest.raises(InvalidInput) as caught:
        slugs(open_graph(graph.uri, embedder=Short()), near("String"), q="quick fox")
    assert caught.value.code == "search.dimension"


@pytest.mark.parametrize("empty", [True, False])
def test_what_cannot_be_searched_for_is_refused_even_where_no_row_asks(
    graph: Graph, empty: bool
) -> None:
    if empty:
        graph.mutate("query q() { delete Doc where slug is not null }")
    with pytest.raises(InvalidInput) as caught:
        slugs(graph, near(), q=[0.0, 0.0, 0.0])
    assert caught.value.code == "search.no_direction"
    fuzzy = "query q($n: I64) { match { $d: Doc fuzzy($d.body, 'x', $n) } return { $d.slug } }"
    with pytest.raises(InvalidInput) as caught:
        slugs(graph, fuzzy.replace("'", '"'), n=3)
    assert caught.value.code == "search.edits"


def test_a_query_that_is_null_ranks_nothing(graph: Graph) -> None:
    assert slugs(graph, near("Vector(3)?"), q=None) == []
    text = (
        "query q($q: String?) { match { $d: Doc } return { $d.slug, bm25($d.body, $q) as score } "
        "order { $d.slug } }"
    )
    assert [row["score"] for row in graph.query(text, {"q": None}).rows()] == [None] * 4
    match = "query q($q: String?) { match { $d: Doc search($d.body, $q) } return { $d.slug } }"
    assert slugs(graph, match, q=None) == []


def test_a_property_made_anew_has_no_words_of_the_one_that_was_dropped(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "_PART_ROWS_MIN", 2)
    found = 'query q() { match { $d: Doc search($d.body, "quick") } return { $d.slug } }'
    assert slugs(graph, found) == ["a", "c"]
    without = "node Doc { slug: String @key }"
    graph.apply_schema(without, allow_data_loss=True)
    graph.apply_schema("node Doc { slug: String @key\n body: String? }")
    assert slugs(graph, found) == []


def test_with_a_condition_no_index_chooses_the_nearest_and_explain_says_so(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where every row passes: whether an answer is exact does not depend on the rows."""
    graph.apply_schema(SCHEMA.replace("Vector(3)?", "Vector(3)? @index"))
    graph.ensure_indices(force=True)
    monkeypatch.setattr(vectors, "EXACT_VALUES", 0)
    asked: list[str] = []
    by_index = VectorColumn._by_index

    def watched(column: VectorColumn, *args: Any) -> Any:
        asked.append("index")
        return by_index(column, *args)

    monkeypatch.setattr(VectorColumn, "_by_index", watched)
    some = near().replace("$d: Doc", '$d: Doc  $d.slug != "zz"')
    for text, chooses in ((near(), True), (some, False)):
        asked.clear()
        assert len(slugs(graph, text, q=[1.0, 0.0, 0.0])) == 2
        assert (asked == ["index"]) is chooses
        assert ("index of vectors" in str(graph.explain(text))) is chooses
