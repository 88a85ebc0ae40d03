"""Relevance is defined as Lance's inverted index defines it, so that an index may be used."""

import lance
import pyarrow as pa
import pytest
from lance.query import MatchQuery, PhraseQuery

from omnigraph.semantics.text import Corpus, has_phrase, has_similar_token, tokenize

TEXTS = [
    "the quick brown fox",
    "Quick, quick fox jumps over snake_case",
    "lazy dog sleeps all day long here",
    "brown dog",
    "naïve café",
    None,
]


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> lance.LanceDataset:
    path = tmp_path_factory.mktemp("text") / "texts.lance"
    dataset = lance.write_dataset(pa.table({"n": range(len(TEXTS)), "text": TEXTS}), str(path))
    dataset.create_scalar_index(
        "text",
        "INVERTED",
        with_position=True,
        base_tokenizer="simple",
        lower_case=True,
        stem=False,
        remove_stop_words=False,
        ascii_folding=False,
    )
    return dataset


def found_by_lance(dataset: lance.LanceDataset, query: object) -> dict[int, float]:
    rows = dataset.to_table(columns=["n", "_score"], full_text_query=query).to_pylist()
    return {row["n"]: row["_score"] for row in rows}


@pytest.mark.parametrize("query", ["quick", "quick fox", "quick quick fox", "case dog", "café"])
def test_bm25_is_the_score_of_the_index(indexed: lance.LanceDataset, query: str) -> None:
    corpus = Corpus(TEXTS)
    scores = {
        place: corpus.score(text, tokenize(query))
        for place, text in enumerate(TEXTS)
        if text is not None
    }
    positive = {place: pytest.approx(score, rel=1e-5) for place, score in scores.items() if score}
    assert found_by_lance(indexed, query) == positive


@pytest.mark.parametrize("query", ["quick fox", "fox quick", "brown dog", "snake case"])
def test_match_text_is_the_phrase_query_of_the_index(
    indexed: lance.LanceDataset, query: str
) -> None:
    ours = {place for place, text in enumerate(TEXTS) if text and has_phrase(text, query)}
    assert set(found_by_lance(indexed, PhraseQuery(query, "text"))) == ours


@pytest.mark.parametrize(("query", "edits"), [("qick", 1), ("fxo", 1), ("fxo", 2), ("layz dig", 2)])
def test_fuzzy_is_the_fuzzy_query_of_the_index(
    indexed: lance.LanceDataset, query: str, edits: int
) -> None:
    ours = {
        place for place, text in enumerate(TEXTS) if text and has_similar_token(text, query, edits)
    }
    theirs = found_by_lance(indexed, MatchQuery(query, "text", fuzziness=edits))
    assert set(theirs) == ours
