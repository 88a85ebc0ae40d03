"""The words of many texts at once, as numbers.

``semantics.text`` defines what a word is. A column of texts is split in one pass over its bytes;
only texts beyond ASCII are split one by one.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.executor.search.segments import SegmentBuilder
from omnigraph.semantics.text import tokenize

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.bool_]

__all__ = ["WORDS", "TermDictionary"]

_PIECE_ROWS = 4_096
# More words than this are looked for in one pass over all words.
_FEW_CODES = 64
# So few words are looked through faster than they are sorted.
_FEW_WORDS = 1 << 15
_POSITION_BITS = 32
_POSITIONS = (1 << _POSITION_BITS) - 1

# A translation table of bytes: lower case inside of a word, 0 between words. The bytes beyond
# ASCII occur only where words are apart already.
_LOWERED = np.zeros(256, np.uint8)
for _byte in b"0123456789abcdefghijklmnopqrstuvwxyz":
    _LOWERED[[_byte, ord(chr(_byte).upper())]] = _byte
_LOWERED[128:] = np.arange(128, 256)


class TermDictionary:
    """The words of a column of texts; rows are places in that column.

    ``codes`` has the words of all texts one after the other, each as its place in ``vocabulary``,
    which is sorted. The words of row i are ``codes[starts[i]:starts[i + 1]]``.
    """

    def __init__(
        self,
        vocabulary: pa.Array,
        codes: npt.NDArray[np.int32],
        starts: Ints,
        nulls: Mask | None,
    ) -> None:
        self.vocabulary = vocabulary
        self.codes = codes
        self.starts = starts
        self.nulls = nulls

    @staticmethod
    def of(texts: pa.Array) -> TermDictionary:
        """The words of texts."""
        nulls = texts.is_null().to_numpy(zero_copy_only=False) if texts.null_count else None
        starts, tokens = _split(_spaced(texts))
        encoded = tokens.dictionary_encode()
        order = pc.sort_indices(encoded.dictionary).to_numpy()
        ranks = np.empty(len(order), np.int32)
        ranks[order] = np.arange(len(order), dtype=np.int32)
        vocabulary = encoded.dictionary.take(pa.array(order))
        return TermDictionary(vocabulary, ranks[encoded.indices.to_numpy()], starts, nulls)

    def some(self, rows: Ints) -> TermDictionary:
        """The words of some rows, in this order."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], lengths)
        nulls = None if self.nulls is None else self.nulls[rows]
        return TermDictionary(self.vocabulary, self.codes[places], starts, nulls)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def nbytes(self) -> int:
        # Each word once in reading order and once in the order of the vocabulary.
        return int(self.starts.nbytes + 2 * self.codes.nbytes + self.vocabulary.nbytes)

    @property
    def lengths(self) -> Ints:
        """How many words each row has."""
        return np.diff(self.starts)

    def find(self, word: str) -> int | None:
        """The code of a word; None when no row has it."""
        place = bisect_left(self.vocabulary, word, key=str)
        found = place < len(self.vocabulary) and self.vocabulary[place].as_py() == word
        return place if found else None

    def rows_with(self, code: int) -> tuple[Ints, Ints]:
        """The rows that have a word, ascending, and how often."""
        rows = self._row_of(self.positions(code))
        first = np.flatnonzero(np.diff(rows, prepend=-1))
        return rows[first], np.diff(first, append=len(rows))

    def rows_with_any(self, codes: list[int]) -> Ints:
        """The rows that have one of some words, ascending."""
        marks = np.zeros(len(self), np.bool_)
        if len(codes) <= _FEW_CODES:
            for code in codes:
                marks[self._row_of(self.positions(code))] = True
        else:
            wanted = np.zeros(len(self.vocabulary), np.bool_)
            wanted[codes] = True
            marks[self._row_of(np.flatnonzero(wanted[self.codes]))] = True
        return np.flatnonzero(marks)

    def rows_with_phrase(self, codes: list[int]) -> Ints:
        """The rows that have words one after the other, ascending."""
        rarest = int(np.argmin([len(self.positions(code)) for code in codes]))
        starts = self.positions(codes[rarest]) - rarest
        starts = starts[(starts >= 0) & (starts + len(codes) <= len(self.codes))]
        for offset, code in enumerate(codes):
            starts = starts[self.codes[starts + offset] == code]
        rows = self._row_of(starts)
        whole = rows == self._row_of(starts + len(codes) - 1)
        return np.unique(rows[whole])

    def positions(self, code: int) -> Ints:
        """Where a word stands among all words, ascending."""
        if len(self.codes) <= _FEW_WORDS:
            return np.flatnonzero(self.codes == code)
        return self._order[self._bounds[code] : self._bounds[code + 1]].astype(np.int64)

    @cached_property
    def _order(self) -> npt.NDArray[np.uint32]:
        """The positions of all words, by word."""
        # Sorting whole numbers is several times faster than an indirect, stable sort.
        packed = self.codes.astype(np.uint64) << np.uint64(_POSITION_BITS)
        packed |= np.arange(len(packed), dtype=np.uint64)
        packed.sort()
        return (packed & np.uint64(_POSITIONS)).astype(np.uint32)

    @cached_property
    def _bounds(self) -> Ints:
        """Where in ``_order`` each word begins, and the last one ends."""
        counts = np.bincount(self.codes, minlength=len(self.vocabulary))
        return np.concatenate([[0], np.cumsum(counts)])

    def _row_of(self, positions: Ints) -> Ints:
        return np.searchsorted(self.starts, positions, side="right") - 1


WORDS = SegmentBuilder("words", TermDictionary.of)


def _spaced(texts: pa.Array) -> pa.Array:
    """Texts whose words are runs of ASCII letters, digits and bytes beyond ASCII."""
    texts = texts.cast(pa.large_string()).fill_null("")
    plain = pc.string_is_ascii(texts)
    if pc.all(plain, min_count=0).as_py():
        return texts
    others = texts.filter(pc.invert(plain)).to_pylist()
    apart = pa.array([" ".join(tokenize(text)) for text in others], pa.large_string())
    return pc.replace_with_mask(texts, pc.invert(plain), apart)


def _split(texts: pa.Array) -> tuple[Ints, pa.Array]:
    """The words of all texts, and where the words of each text begin among them."""
    # In pieces that fit the caches of a processor, for texts of an ordinary size.
    pieces = [
        _split_piece(texts.slice(start, _PIECE_ROWS)) for start in range(0, len(texts), _PIECE_ROWS)
    ]
    counts = np.concatenate([[0], *(np.diff(starts) for starts, _ in pieces)])
    words = pa.concat_arrays([words for _, words in pieces] or [pa.array([], pa.large_string())])
    return np.cumsum(counts), words


def _split_piece(texts: pa.Array) -> tuple[Ints, pa.Array]:
    offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset :][: len(texts) + 1]
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    bounds = offsets - offsets[0]
    lowered = _LOWERED[data]
    inside = lowered != 0
    begins, ends = inside.copy(), inside.copy()
    begins[1:] &= ~inside[:-1]
    ends[:-1] &= ~inside[1:]
    # Texts follow each other without a gap, so a word may only seem to go on.
    seams = bounds[(bounds > 0) & (bounds < len(data))]
    begins[seams] = inside[seams]
    ends[seams - 1] = inside[seams - 1]
    first, last = np.flatnonzero(begins), np.flatnonzero(ends)
    lengths = np.concatenate([[0], last - first + 1])
    words = pa.LargeStringArray.from_buffers(
        len(first), pa.py_buffer(np.cumsum(lengths)), pa.py_buffer(lowered[inside])
    )
    return np.searchsorted(first, bounds), words
