"""The rows of a column that an index of words names, with all that it does not cover.

An index has its own idea of words: it separates at some marks where we do not, and knows other
capitals. So it is asked only for words that it cannot miss, and what it finds is read and judged
like any other text. ``tests/property`` looks for a text that it would miss.
"""

from __future__ import annotations

import unicodedata
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from omnigraph.executor.cache import pin_key
from omnigraph.executor.search.corpus import SearchCorpus, Statistics
from omnigraph.executor.search.segments import SearchSegment, parts_of, read_offsets, read_pieces
from omnigraph.executor.search.term_dictionary import WORDS, TermDictionary
from omnigraph.executor.search.text_lengths import FragmentTextLengths, read_notes
from omnigraph.frozen import frozen
from omnigraph.ports.indexes import IndexKind, IndexSpec
from omnigraph.semantics.columns.column import joined_array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from omnigraph.executor.cache import ByteCache
    from omnigraph.ports.indexes import IndexInfo
    from omnigraph.ports.tables import Fragment, Table
    from omnigraph.runtime.budget import Meter

    Ints = npt.NDArray[np.int64]

__all__ = ["IndexedTexts", "find_index", "is_sought", "statistics_of"]

# An index that names more than this share of a table does not save anything.
_NAMED_SHARE = 8


def find_index(table: Table, column: str) -> IndexInfo | None:
    """The index of words of a column."""
    wanted = IndexSpec(column, IndexKind.INVERTED)
    return next((index for index in table.indexes() if index.spec == wanted), None)


def is_sought(word: str) -> bool:
    """Whether an index finds every text that has this word.

    Not where Lance lowers capitals otherwise: a sigma at the end of a word, a dotted I, and letters
    that this Python does not know yet.
    """
    return not (
        "ς" in word or "i\u0307" in word or any(unicodedata.category(char) == "Cn" for char in word)
    )


@frozen
class _Notes:
    """The lengths that are noted with all segments of an index."""

    by_part: dict[str, FragmentTextLengths]

    @property
    def nbytes(self) -> int:
        return sum(part.lengths.nbytes for part in self.by_part.values())


@frozen
class _Total:
    value: Statistics
    nbytes: int = 64


def statistics_of(
    table: Table, column: str, cache: ByteCache, count: Callable[[], Statistics]
) -> Statistics:
    """The statistics of a column, counted once per pin."""
    key = (*pin_key(table.pin), "text statistics", column)
    return cache.get_or_make(key, lambda: _Total(count())).value


class IndexedTexts:
    """A column of texts, read through an index."""

    def __init__(
        self, table: Table, column: str, index: IndexInfo, cache: ByteCache, meter: Meter
    ) -> None:
        self._table = table
        self._column = column
        self._index = index
        self._cache = cache
        self._meter = meter

    def with_words(self, words: Sequence[str], *, every: bool) -> SearchCorpus | None:
        """The rows that may have one of the words, or every one; None when there are too many."""
        return self._corpus(words, frozenset(self._index.uncovered), every=every)

    def ranking(self, words: Sequence[str]) -> SearchCorpus | None:
        """The rows that may have one of the words, with the statistics of the column."""
        # Where the lengths of a part are not noted, they are counted.
        read = frozenset(
            place
            for place, part in enumerate(self._fragments)
            if place in self._index.uncovered or part.key not in self._notes.by_part
        )
        total = statistics_of(
            self._table, self._column, self._cache, lambda: self._statistics(read)
        )
        return self._corpus(words, read, every=False, statistics=total)

    def _corpus(
        self,
        words: Sequence[str],
        read: frozenset[int],
        *,
        every: bool,
        statistics: Statistics | None = None,
    ) -> SearchCorpus | None:
        rows = self._table.search_words(self._column, words, every=every)
        rows = rows[~self._lies_in(rows, read)]
        if len(rows) * _NAMED_SHARE > self._table.pin.rows:
            return None
        found = self._table.take(rows, [self._column]).column(self._column)
        self._meter.hold(found.nbytes)
        named = SearchSegment(TermDictionary.of(joined_array(found)), len(rows), 0, rows)
        return SearchCorpus((named, *self._read(read)), statistics)

    def _read(self, parts: frozenset[int]) -> tuple[SearchSegment[TermDictionary], ...]:
        return tuple(
            read_pieces(self._table, self._column, WORDS, self._cache, self._meter, parts=parts)
        )

    def _statistics(self, read: frozenset[int]) -> Statistics:
        noted = [
            self._notes.by_part[part.key].statistics(
                None if part.rows == part.written else read_offsets(self._table, place)
            )
            for place, part in enumerate(self._fragments)
            if place not in read
        ]
        return sum(noted, Statistics.of(self._read(read)))

    def _lies_in(self, rows: Ints, parts: frozenset[int]) -> npt.NDArray[np.bool_]:
        """Which rows belong to some parts."""
        ends = np.cumsum([part.rows for part in self._fragments])
        return np.isin(np.searchsorted(ends, rows, side="right"), list(parts))

    @cached_property
    def _fragments(self) -> Sequence[Fragment]:
        return parts_of(self._table, self._cache)

    @cached_property
    def _notes(self) -> _Notes:
        key = ("notes", self._table.pin.path, *(each.key for each in self._index.segments))
        return self._cache.get_or_make(key, self._read_notes)

    def _read_notes(self) -> _Notes:
        found: dict[str, FragmentTextLengths] = {}
        for segment in self._index.segments:
            notes = self._table.index_notes(segment)
            found |= read_notes(notes) if notes else {}
        return _Notes(found)
