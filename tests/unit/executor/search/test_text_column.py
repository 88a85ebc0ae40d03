"""Text search on a column: what is read, what an index spares, and what stays the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.executor.search import indexed_texts as indexed
from omnigraph.executor.search import segments
from omnigraph.executor.search import text_column as texts
from omnigraph.executor.search.corpus import TextQuery
from omnigraph.executor.search.text_lengths import FragmentTextLengths, read_notes, write_notes
from omnigraph.ir.expressions import TextFunc
from omnigraph.semantics.text import Corpus

Make = Any
FOX = TextQuery(TextFunc.SEARCH, "fox")
BODIES = ("quick fox", None, "fox fox", "lazy dog", "")


@pytest.fixture
def dear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading a whole column is dear."""
    monkeypatch.setattr(texts, "_READ_ROWS", -1)
    monkeypatch.setattr(texts, "_SECONDS_PER_TEXT", 1e9)
    monkeypatch.setattr(indexed, "_NAMED_SHARE", 0)


def test_rows_with_any_word_match_and_null_is_unknown(library: Make) -> None:
    column = library(*BODIES).texts()
    assert column.matching(FOX).tolist() == [0, 2]
    truth = column.matches(FOX)
    assert truth.yes.tolist() == [True, False, True, False, False]
    assert truth.unknown is not None
    assert truth.unknown.tolist() == [False, True, False, False, False]


def test_some_rows_are_judged_in_the_order_they_are_given(library: Make) -> None:
    column = library(*BODIES).texts()
    truth = column.matches(FOX, np.array([3, 2, 1, 2]))
    assert truth.yes.tolist() == [False, True, False, True]


@pytest.mark.parametrize("text", ["", " ,; ", "missing"])
def test_nothing_matches_a_query_without_known_words(library: Make, text: str) -> None:
    column = library(*BODIES).texts()
    for func in TextFunc:
        assert column.matching(TextQuery(func, text, 1)).tolist() == []
    assert len(column.best(text, 10)) == 0


def test_an_empty_table_has_no_answer(library: Make) -> None:
    column = library().texts()
    assert column.matching(FOX).tolist() == []
    assert column.scores("fox")[0].tolist() == []
    assert len(column.best("fox", 3)) == 0


def test_scores_are_those_of_the_definition_whatever_rows_are_asked_for(library: Make) -> None:
    column = library(*BODIES).texts()
    corpus = Corpus(BODIES)
    scores, nulls = column.scores("fox dog", np.array([2, 1, 4]))
    assert nulls is not None
    assert nulls.tolist() == [False, True, False]
    assert scores[[0, 2]].tolist() == [corpus.score("fox fox", ["fox", "dog"]), 0.0]
    read = column.scores_of(library_texts("fox fox", None), "fox dog")
    assert read[0][0] == corpus.score("fox fox", ["fox", "dog"])
    assert read[1] is not None
    assert read[1].tolist() == [False, True]


def library_texts(*values: str | None) -> Any:
    return pa.array(values, pa.string())


def test_the_best_rows_come_with_all_that_are_as_good_as_the_last(library: Make) -> None:
    column = library("fox", "fox", "fox fox fox", "dog", "fox").texts()
    assert column.best("fox", 2).rows.tolist() == [2, 0, 1, 4]
    assert column.best("fox", 2, np.array([0, 3, 4])).rows.tolist() == [0, 4]


def test_a_column_is_read_once_and_its_parts_outlive_a_write(
    library: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "_PART_ROWS_MIN", 512)
    shelf = library(*["quick fox"] * 600)
    shelf.texts().matching(FOX)
    watched = shelf.watched()
    shelf.texts(watched).matching(FOX)
    assert "scan" not in watched.calls
    shelf.add("new fox")
    watched = shelf.watched()
    assert len(shelf.texts(watched).matching(FOX)) == 601
    assert watched.calls.count("scan") == 1, "only the new part is read"


def test_deleted_rows_do_not_count(library: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "_PART_ROWS_MIN", 4)
    shelf = library("fox", "fox dog", "fox", "dog", "cat cat")
    before = shelf.pin
    shelf.texts().best("fox", 5)
    shelf.remove("d0", "d3")
    left = ["fox dog", "fox", "cat cat"]
    ranked = shelf.texts().best("fox", 5)
    assert dict(zip(ranked.rows.tolist(), ranked.scores.tolist(), strict=True)) == {
        place: Corpus(left).score(text, ["fox"]) for place, text in enumerate(left) if "fox" in text
    }
    shelf.pin = before
    assert shelf.texts().matching(FOX).tolist() == [0, 1, 2], "a branch still has them"


def test_rows_that_were_gone_when_a_part_was_read_are_read_when_a_branch_has_them(
    library: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "_PART_ROWS_MIN", 2)
    shelf = library("fox", "fox dog", "cat")
    before = shelf.pin
    shelf.remove("d0")
    assert shelf.texts().matching(FOX).tolist() == [0]
    shelf.pin = before
    assert shelf.texts().matching(FOX).tolist() == [0, 1]


# --- through an index ---


@pytest.mark.usefixtures("dear")
def test_an_index_spares_reading_the_column(library: Make) -> None:
    shelf = library(*BODIES)
    shelf.index()
    watched = shelf.watched()
    column = shelf.texts(watched)
    assert column.matching(FOX).tolist() == [0, 2]
    assert column.best("fox", 5).scores.tolist() == sorted(
        (Corpus(BODIES).score(text, ["fox"]) for text in ("quick fox", "fox fox")), reverse=True
    )
    assert "search_words" in watched.calls
    assert "scan" not in watched.calls


@pytest.mark.usefixtures("dear")
def test_rows_outside_of_the_index_are_found_and_counted(library: Make) -> None:
    shelf = library("fox", "dog")
    shelf.index()
    shelf.add("new fox fox", None)
    bodies = ["fox", "dog", "new fox fox", None]
    column = shelf.texts()
    assert column.matching(FOX).tolist() == [0, 2]
    ranked = column.best("fox", 5)
    assert dict(zip(ranked.rows.tolist(), ranked.scores.tolist(), strict=True)) == {
        place: Corpus(bodies).score(bodies[place] or "", ["fox"]) for place in (0, 2)
    }


@pytest.mark.usefixtures("dear")
def test_without_notes_an_index_still_finds_and_relevance_reads(
    library: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = library(*BODIES)
    shelf.index()
    expected = shelf.texts().best("fox", 5)
    monkeypatch.setattr("omnigraph.executor.search.indexed_texts.read_notes", lambda _: {})
    shelf.cache.clear()
    again = shelf.texts().best("fox", 5)
    assert again.rows.tolist() == expected.rows.tolist()
    assert again.scores.tolist() == expected.scores.tolist()


@pytest.mark.usefixtures("dear")
@pytest.mark.parametrize("word", ["ΛΟΓΟΣ", "İstanbul"])
def test_words_that_an_index_would_miss_are_read_for(library: Make, word: str) -> None:
    shelf = library(word, "other")
    shelf.index()
    watched = shelf.watched()
    assert shelf.texts(watched).matching(TextQuery(TextFunc.SEARCH, word)).tolist() == [0]
    assert "search_words" not in watched.calls


def test_what_an_index_has_cost_is_a_reason_to_read(
    library: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "_READ_ROWS", -1)
    monkeypatch.setattr(indexed, "_NAMED_SHARE", 0)
    shelf = library(*BODIES)
    shelf.index()
    calls: list[list[str]] = []
    for _ in range(3):
        watched = shelf.watched()
        assert shelf.texts(watched).matching(FOX).tolist() == [0, 2]
        calls.append(watched.calls)
    assert "search_words" in calls[0]
    assert "search_words" not in calls[-1]


# --- notes ---


def test_notes_are_read_as_they_were_written() -> None:
    lengths = FragmentTextLengths.of(library_texts("a b", None, "", "c"), np.array([0, 1, 3, 4]), 6)
    [(key, found)] = read_notes(write_notes([("part", lengths)])).items()
    assert key == "part"
    assert found.lengths.tolist() == lengths.lengths.tolist()
    assert found.statistics(None) == lengths.statistics(np.array([0, 3, 4]))
    assert (found.statistics(None).documents, found.statistics(None).words) == (3, 3)
    assert found.statistics(np.array([1, 4])).documents == 1


@pytest.mark.parametrize("notes", [b"", b"something else"])
def test_notes_that_are_none_say_nothing(notes: bytes) -> None:
    assert read_notes(notes) == {}


def test_the_average_of_nothing_is_nothing(library: Make) -> None:
    column = library(None, None).texts()
    scores, nulls = column.scores("fox")
    assert scores.tolist() == [0.0, 0.0]
    assert nulls is not None
    assert nulls.all()
