"""Texts of a table, as far as a query needs to know them, and the definitions of the language.

The meaning is that of ``semantics.text``, which looks at one text at a time.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from omnigraph.executor.search.distances import exact_sum
from omnigraph.executor.search.edit_distance import similar_words
from omnigraph.executor.search.segments import SearchSegment
from omnigraph.frozen import frozen
from omnigraph.ir.expressions import TextFunc
from omnigraph.semantics.text import BM25_B, BM25_K1, tokenize

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    from omnigraph.executor.search.term_dictionary import TermDictionary

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.bool_]

__all__ = ["SearchCorpus", "Statistics", "TextQuery"]

_NONE = np.empty(0, np.int64)


@frozen
class TextQuery:
    """The predicate that a text must satisfy."""

    func: TextFunc
    text: str
    max_edits: int = 0

    @property
    def words(self) -> tuple[str, ...]:
        return tokenize(self.text)


@frozen
class Statistics:
    """Statistics of a whole column for relevance: its texts without NULLs, and their words."""

    documents: int
    words: int

    @property
    def average_length(self) -> float:
        return self.words / self.documents if self.documents else 0.0

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(self.documents + other.documents, self.words + other.words)

    @staticmethod
    def of(pieces: Sequence[SearchSegment[TermDictionary]]) -> Statistics:
        documents = words = 0
        for piece in pieces:
            counted = np.ones(len(piece.segment), np.bool_)
            if piece.positions is not None:
                counted &= piece.positions >= 0
            if piece.segment.nulls is not None:
                counted &= ~piece.segment.nulls
            documents += int(counted.sum())
            words += int(piece.segment.lengths[counted].sum())
        return Statistics(documents, words)


class SearchCorpus:
    """Rows of a table. Rows that are not here do not have the words that are looked for.

    ``statistics`` are those of the whole column; without them there is no relevance. A corpus that
    lacks rows which have the words receives their number: ``frequencies``.
    """

    def __init__(
        self,
        pieces: Sequence[SearchSegment[TermDictionary]],
        statistics: Statistics | None,
        frequencies: Mapping[str, int] | None = None,
    ) -> None:
        self._pieces = pieces
        self._statistics = statistics
        self._frequencies = frequencies or {}

    def about(self, texts: TermDictionary, words: Iterable[str]) -> SearchCorpus:
        """Some texts, to be judged as if they were rows of this corpus."""
        frequencies = {word: len(self._hits(word)[0]) for word in words}
        return SearchCorpus([SearchSegment(texts, len(texts), 0)], self._statistics, frequencies)

    def some(self, rows: Ints) -> SearchCorpus:
        """Some rows by themselves, numbered in this order: to be judged, not to be ranked."""
        picked = []
        for piece in self._pieces:
            which, at = piece.find(rows)
            picked.append(SearchSegment(piece.segment.some(at), len(at), 0, which))
        return SearchCorpus(picked, None)

    def nulls(self, total: int) -> Mask | None:
        """Which of so many rows are NULL, as far as they are here; None when none is."""
        found = [
            piece.positions_of(np.flatnonzero(piece.segment.nulls))
            for piece in self._pieces
            if piece.segment.nulls is not None
        ]
        if not any(map(len, found)):
            return None
        marks = np.zeros(total, np.bool_)
        marks[np.concatenate(found)] = True
        return marks

    def matching(self, query: TextQuery) -> Ints:
        """The rows that satisfy a text predicate, ascending."""
        words = query.words
        if not words:
            return _NONE
        return _joined(
            [piece.positions_of(_matching(piece.segment, query, words)) for piece in self._pieces]
        )

    def relevance(self, text: str) -> tuple[Ints, Floats]:
        """The rows with a score above 0, ascending, and their BM25 scores."""
        words = tokenize(text)
        hits = {word: self._hits(word) for word in set(words)}
        rows = _joined([having for having, *_ in hits.values()])
        if not len(rows):
            return rows, np.empty(0)
        scores = {word: self._score(word, *hits[word], rows) for word in hits}
        return rows, exact_sum(np.stack([scores[word] for word in words], axis=1))

    def _score(self, word: str, having: Ints, counts: Ints, lengths: Ints, rows: Ints) -> Floats:
        """The contribution of one word to the scores of rows."""
        if self._statistics is None:
            raise ValueError("a corpus without statistics knows no relevance")
        documents, average = self._statistics.documents, self._statistics.average_length
        frequency = self._frequencies.get(word, len(having))
        rarity = math.log1p((documents - frequency + 0.5) / (frequency + 0.5))
        norm = 1 - BM25_B + BM25_B * lengths / average
        saturated = counts * (BM25_K1 + 1) / (counts + BM25_K1 * norm)
        found = np.zeros(len(rows))
        found[np.searchsorted(rows, having)] = rarity * saturated
        return found

    def _hits(self, word: str) -> tuple[Ints, Ints, Ints]:
        """The rows that have a word, how often, and how long they are."""
        found = [_hits(piece, word) for piece in self._pieces]
        if len(found) == 1:
            return found[0]
        rows, counts, lengths = (
            np.concatenate([_NONE, *(each[column] for each in found)]) for column in range(3)
        )
        order = np.argsort(rows)
        return rows[order], counts[order], lengths[order]


def _joined(found: list[Ints]) -> Ints:
    """Rows of several lists, each ascending and without repetition, as one such list."""
    return found[0] if len(found) == 1 else np.unique(np.concatenate([_NONE, *found]))


def _hits(piece: SearchSegment[TermDictionary], word: str) -> tuple[Ints, Ints, Ints]:
    code = piece.segment.find(word)
    if code is None:
        return _NONE, _NONE, _NONE
    rows, counts = piece.segment.rows_with(code)
    placed = piece.is_placed(rows)
    if placed is not None:
        rows, counts = rows[placed], counts[placed]
    starts = piece.segment.starts
    return piece.positions_of(rows), counts, starts[rows + 1] - starts[rows]


def _matching(words: TermDictionary, query: TextQuery, wanted: Sequence[str]) -> Ints:
    """Rows of one segment."""
    match query.func:
        case TextFunc.SEARCH:
            known = [code for code in map(words.find, set(wanted)) if code is not None]
            return words.rows_with_any(known)
        case TextFunc.FUZZY:
            similar = [similar_words(words.vocabulary, word, query.max_edits) for word in wanted]
            return words.rows_with_any(np.concatenate(similar).tolist())
        case TextFunc.MATCH_TEXT:
            phrase = [words.find(word) for word in wanted]
            known = [code for code in phrase if code is not None]
            return words.rows_with_phrase(known) if len(known) == len(phrase) else _NONE
