"""Text search on a column of a table at its pin.

There are two ways to an answer, and both give the same one. The words of the whole column can be
read, once, and kept. Or an index of words, where the table has one, names the rows that may matter;
their texts are read and judged as all others are. The index costs little at first and something
every time; when it has cost as much as reading the column, the column is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from omnigraph.executor.cache import pin_key
from omnigraph.executor.search.corpus import SearchCorpus, Statistics
from omnigraph.executor.search.indexed_texts import (
    IndexedTexts,
    find_index,
    is_sought,
    statistics_of,
)
from omnigraph.executor.search.ranking import best
from omnigraph.executor.search.segments import SearchSegment, count_missing, read_pieces
from omnigraph.executor.search.term_dictionary import WORDS, TermDictionary
from omnigraph.ir.expressions import ScoreFunc, TextFunc
from omnigraph.runtime.clock import SYSTEM_CLOCK
from omnigraph.semantics.columns.column import joined_array
from omnigraph.semantics.columns.truth import Truth, masked
from omnigraph.semantics.text import tokenize

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt
    import pyarrow as pa

    from omnigraph.executor.cache import ByteCache
    from omnigraph.executor.search.corpus import TextQuery
    from omnigraph.executor.search.ranking import Ranked
    from omnigraph.ports.tables import Table
    from omnigraph.runtime.budget import Meter

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.bool_]

__all__ = ["TextColumn", "describe_text_search", "match_texts"]

# A column of so few rows is read at once, whatever index there is.
_READ_ROWS = 16_384
# Fewer rows than this share of a column are taken instead of reading it whole.
_TAKE_SHARE = 16
# Fewer rows than this share of a column are judged by their own words alone.
_PICK_SHARE = 16
# The cost of reading the words of a text, roughly.
_SECONDS_PER_TEXT = 5e-6
# A few queries predict more: a column is read when a fraction of its cost has been spent.
_PATIENCE = 4


class TextColumn:
    """The texts of one column of a table at its pin."""

    def __init__(self, table: Table, column: str, cache: ByteCache, meter: Meter) -> None:
        self._table = table
        self._column = column
        self._cache = cache
        self._meter = meter
        self._key = (*pin_key(table.pin), "texts", column)

    # --- what is asked ---

    def matching(self, query: TextQuery) -> Ints:
        """All rows that satisfy a text predicate, ascending."""
        return (self._named(query) or self._whole()).matching(query)

    def matches(self, query: TextQuery, rows: Ints | None = None) -> Truth:
        """Whether rows satisfy a text predicate; of a NULL it is unknown."""
        if rows is not None and self._is_few(len(rows)):
            return match_texts(self._taken(rows), query)
        total = self._table.pin.rows
        corpus = self._named(query)
        if corpus is not None:
            nulls = self._find_nulls()
        else:
            corpus = self._whole()
            if rows is not None and len(rows) * _PICK_SHARE < total:
                return _judged(corpus.some(rows), query, len(rows))
            nulls = corpus.nulls(total)
        truth = masked(_marked(corpus.matching(query), total), nulls)
        return truth if rows is None else _some(truth, rows)

    def scores(self, text: str, rows: Ints | None = None) -> tuple[Floats, Mask | None]:
        """The relevance of rows, 0 where they do not match; and which of them are NULL."""
        total = self._table.pin.rows
        corpus = self._ranking(text) if rows is not None and self._is_few(len(rows)) else None
        nulls: Mask | None
        if rows is None or corpus is None:
            corpus = self._whole()
            nulls = corpus.nulls(total)
            nulls = nulls if rows is None or nulls is None else nulls[rows]
        else:
            nulls = TermDictionary.of(self._taken(rows)).nulls
        found = np.zeros(total)
        places, scores = corpus.relevance(text)
        found[places] = scores
        return (found if rows is None else found[rows]), nulls

    def scores_of(self, texts: pa.Array, text: str) -> tuple[Floats, Mask | None]:
        """The relevance of texts that were read of this column, wherever they stand in it."""
        words = TermDictionary.of(texts)
        corpus = self._ranking(text) or self._whole()
        found = np.zeros(len(words))
        places, scores = corpus.about(words, tokenize(text)).relevance(text)
        found[places] = scores
        return found, words.nulls

    def best(self, text: str, count: int | None, rows: Ints | None = None) -> Ranked:
        """The most relevant of some rows, or of all. Rows that do not match are none of them."""
        places, scores = (self._ranking(text) or self._whole()).relevance(text)
        if rows is not None:
            among = _marked(rows, self._table.pin.rows)[places]
            places, scores = places[among], scores[among]
        return best(ScoreFunc.BM25, places, scores, count)

    # --- where it is looked for ---

    def _whole(self) -> SearchCorpus:
        pieces = tuple(read_pieces(self._table, self._column, WORDS, self._cache, self._meter))
        total = statistics_of(self._table, self._column, self._cache, lambda: Statistics.of(pieces))
        return SearchCorpus(pieces, total)

    def _named(self, query: TextQuery) -> SearchCorpus | None:
        """The rows that an index names for a predicate."""
        if query.func is TextFunc.FUZZY:
            # An index does not know the words that are similar to a word by our definition.
            return None
        words, every = query.words, query.func is TextFunc.MATCH_TEXT
        return self._indexed(words, lambda texts: texts.with_words(words, every=every))

    def _find_nulls(self) -> Mask | None:
        nulls = self._table.find(pc.field(self._column).is_null())
        return _marked(nulls, self._table.pin.rows) if len(nulls) else None

    def _ranking(self, text: str) -> SearchCorpus | None:
        words = tokenize(text)
        return self._indexed(words, lambda texts: texts.ranking(words))

    def _indexed(
        self, words: Sequence[str], find: Callable[[IndexedTexts], SearchCorpus | None]
    ) -> SearchCorpus | None:
        """The rows that an index finds; None without an index, or without use of it."""
        if not words or not all(map(is_sought, words)):
            return None
        missing = count_missing(self._table, self._column, WORDS, self._cache)
        if missing <= _READ_ROWS or self._is_paid_for(missing):
            return None
        index = find_index(self._table, self._column)
        if index is None:
            return None
        started = SYSTEM_CLOCK.monotonic()
        texts = IndexedTexts(self._table, self._column, index, self._cache, self._meter)
        found = find(texts)
        self._cache.spend(self._key, SYSTEM_CLOCK.monotonic() - started)
        return found

    def _is_few(self, count: int) -> bool:
        """Whether taking rows is cheaper than reading the column, this time and by now."""
        missing = count_missing(self._table, self._column, WORDS, self._cache)
        return count * _TAKE_SHARE < missing and not self._is_paid_for(missing)

    def _is_paid_for(self, missing: int) -> bool:
        """Whether reading parts of the column has cost a good share of reading it whole."""
        return self._cache.spent(self._key) * _PATIENCE > missing * _SECONDS_PER_TEXT

    def _taken(self, rows: Ints) -> pa.Array:
        started = SYSTEM_CLOCK.monotonic()
        found = self._table.take(rows, [self._column]).column(self._column)
        self._cache.spend(self._key, SYSTEM_CLOCK.monotonic() - started)
        self._meter.hold(found.nbytes)
        return joined_array(found)


def describe_text_search(table: Table, column: str, cache: ByteCache, func: TextFunc | None) -> str:
    """How the texts of a column would be searched now; ``func`` None ranks them."""
    missing = count_missing(table, column, WORDS, cache)
    if not missing:
        return "no index: the texts are in memory"
    if func is TextFunc.FUZZY:
        return f"no index: it does not know which words are similar; {missing} texts are read"
    if missing <= _READ_ROWS:
        return f"no index: {missing} texts are read as fast"
    index = find_index(table, column)
    if index is None:
        return f"no index: there is none of words; {missing} texts are read"
    covered, total = index.covered_rows, table.pin.rows
    return f"index of words, which covers {covered} of {total} rows"


def match_texts(texts: pa.Array, query: TextQuery) -> Truth:
    """Whether texts satisfy a text predicate; of a NULL it is unknown."""
    return _judged(
        SearchCorpus([SearchSegment(TermDictionary.of(texts), len(texts), 0)], None),
        query,
        len(texts),
    )


def _judged(corpus: SearchCorpus, query: TextQuery, total: int) -> Truth:
    return masked(_marked(corpus.matching(query), total), corpus.nulls(total))


def _marked(rows: Ints, total: int) -> Mask:
    marks = np.zeros(total, np.bool_)
    marks[rows] = True
    return marks


def _some(truth: Truth, rows: Ints) -> Truth:
    return Truth(truth.yes[rows], None if truth.unknown is None else truth.unknown[rows])
