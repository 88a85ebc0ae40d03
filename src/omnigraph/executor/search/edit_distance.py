"""Words that differ from a word by few edits, among many words at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

__all__ = ["similar_words"]


def similar_words(vocabulary: pa.Array, word: str, max_edits: int) -> Ints:
    """The places of the words within so many edits of a word, ascending."""
    lengths = pc.utf8_length(vocabulary).to_numpy()
    found = [
        _within(vocabulary, np.flatnonzero(lengths == length), length, word, max_edits)
        for length in range(max(1, len(word) - max_edits), len(word) + max_edits + 1)
    ]
    return np.sort(np.concatenate(found))


def _within(vocabulary: pa.Array, places: Ints, length: int, word: str, max_edits: int) -> Ints:
    """As above, of words that all have one length."""
    if not len(places):
        return places
    texts = "".join(vocabulary.take(pa.array(places)).to_pylist())
    letters = np.frombuffer(texts.encode("utf-32-le"), np.uint32).reshape(-1, length)
    return places[_distances(letters, word) <= max_edits]


def _distances(letters: npt.NDArray[np.uint32], word: str) -> npt.NDArray[np.int16]:
    """Levenshtein's distance of each row of letters to a word, all rows in step."""
    wanted = np.frombuffer(word.encode("utf-32-le"), np.uint32)
    count, length = letters.shape
    previous = np.tile(np.arange(len(wanted) + 1, dtype=np.int16)[:, None], count)
    for row in range(length):
        current = np.empty_like(previous)
        current[0] = row + 1
        replaced = previous[:-1] + (wanted[:, None] != letters[:, row])
        np.minimum(previous[1:] + 1, replaced, out=current[1:])
        for column in range(1, len(wanted) + 1):
            np.minimum(current[column], current[column - 1] + 1, out=current[column])
        previous = current
    return np.asarray(previous[-1])
