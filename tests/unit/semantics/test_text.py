"""Words, text predicates and BM25, with expected values worked out by hand."""

import math

import pytest

from omnigraph.semantics.text import (
    Corpus,
    edit_distance,
    has_any_token,
    has_phrase,
    has_similar_token,
    tokenize,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ()),
        ("  ,;  ", ()),
        ("The Quick fox", ("the", "quick", "fox")),
        ("fox", ("fox",)),
        ("snake_case don't e-mail 3.14", ("snake", "case", "don", "t", "e", "mail", "3", "14")),
        ("ÜBER Straße", ("über", "straße")),
        ("cafe\u0301 noir", ("cafe\u0301", "noir")),
        ("हिन्दी भाषा", ("हिन्दी", "भाषा")),
        ("日本語 テスト", ("日本語", "テスト")),
        ("running runs the of", ("running", "runs", "the", "of")),
    ],
)
def test_tokens_are_lower_case_runs_of_letters_digits_and_marks(
    text: str, words: tuple[str, ...]
) -> None:
    assert tokenize(text) == words


def test_search_needs_any_one_of_the_words() -> None:
    assert has_any_token("The quick brown fox", "slow FOX")
    assert not has_any_token("The quick brown fox", "foxes slow")


def test_match_text_needs_the_words_side_by_side_and_in_order() -> None:
    assert has_phrase("The quick, brown fox", "Quick Brown")
    assert has_phrase("brown fox", "brown fox")
    assert not has_phrase("The quick brown fox", "quick fox")
    assert not has_phrase("The quick brown fox", "brown quick")
    assert not has_phrase("fox", "quick fox")


def test_a_phrase_may_start_at_a_repeated_word() -> None:
    assert has_phrase("so so good", "so good")


def test_a_query_without_words_matches_nothing() -> None:
    for text in ("", "a b"):
        assert not has_any_token(text, "…")
        assert not has_phrase(text, "…")
        assert not has_similar_token(text, "…", 2)


@pytest.mark.parametrize(
    ("left", "right", "edits"),
    [
        ("fox", "fox", 0),
        ("fox", "foxy", 1),
        ("fox", "ox", 1),
        ("fox", "fix", 1),
        ("fox", "fxo", 2),
        ("kitten", "sitting", 3),
        ("", "abc", 3),
    ],
)
def test_edit_distance_is_levenshtein_and_a_swap_is_two_edits(
    left: str, right: str, edits: int
) -> None:
    assert edit_distance(left, right) == edits
    assert edit_distance(right, left) == edits


def test_fuzzy_allows_so_many_edits_on_any_one_word() -> None:
    assert has_similar_token("quick fox", "qick zzzzzz", 1)
    assert has_similar_token("quick fox", "fxo", 2)
    assert not has_similar_token("quick fox", "fxo", 1)


def test_fuzzy_counts_edits_per_word_and_not_over_the_phrase() -> None:
    assert has_similar_token("quick brown fox", "brownish", 3)
    assert not has_similar_token("quick brown fox", "quickbrown", 2)


DOCUMENTS = ["the quick brown fox", "quick quick fox jumps", None, "lazy dog"]


def test_bm25_is_the_textbook_formula_over_the_texts_that_exist() -> None:
    corpus = Corpus(DOCUMENTS)
    # Three documents of 4, 4 and 2 words; "quick" is in two of them, twice in the second.
    inverse = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    norm = 1 - 0.75 + 0.75 * 4 / (10 / 3)
    assert corpus.score("the quick brown fox", ["quick"]) == pytest.approx(
        inverse * 2.2 / (1 + 1.2 * norm)
    )
    assert corpus.score("quick quick fox jumps", ["quick"]) == pytest.approx(
        inverse * 2 * 2.2 / (2 + 1.2 * norm)
    )


def test_bm25_adds_up_words_and_counts_a_repeated_word_twice() -> None:
    corpus = Corpus(DOCUMENTS)
    text = "the quick brown fox"
    quick, brown = corpus.score(text, ["quick"]), corpus.score(text, ["brown"])
    assert corpus.score(text, ["quick", "brown"]) == pytest.approx(quick + brown)
    assert corpus.score(text, ["quick", "quick"]) == pytest.approx(2 * quick)


def test_bm25_prefers_rare_words_and_short_texts() -> None:
    corpus = Corpus(["fox a", "fox b", "fox c", "hen d", "fox e f g h i j"])
    assert corpus.score("hen d", ["hen"]) > corpus.score("fox a", ["fox"])
    assert corpus.score("fox a", ["fox"]) > corpus.score("fox e f g h i j", ["fox"])


def test_bm25_of_a_text_without_any_of_the_words_is_zero() -> None:
    corpus = Corpus(DOCUMENTS)
    assert corpus.score("lazy dog", ["quick", "unheard"]) == 0
    assert corpus.score("lazy dog", []) == 0
    assert Corpus([]).score("", ["quick"]) == 0
