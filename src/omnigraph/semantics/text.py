"""Words: the tokeniser, the text predicates and BM25, as the language defines them.

* A token is a run of letters, digits and combining marks in lower case, with at least one letter or
  digit in it. Everything else separates, ``_`` and the apostrophe included. Nothing is stemmed,
  folded or left out.
* ``search`` holds when any token of the query is a token of the text.
* ``match_text`` holds when the tokens of the query stand in the text one after the other.
* ``fuzzy`` holds when any token of the query is within so many edits (insert, delete, replace one
  character; a swap is two) of any token of the text.
* A query without tokens matches nothing.
* ``bm25`` has k1 = 1.2 and b = 0.75. Its statistics are those of the whole property in the
  snapshot, filters notwithstanding, with NULLs left out: what an inverted index knows. A token that
  occurs twice in the query counts twice. A text without any token of the query scores 0.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = [
    "BM25_B",
    "BM25_K1",
    "DEFAULT_EDITS",
    "EDITS",
    "Corpus",
    "edit_distance",
    "has_any_token",
    "has_phrase",
    "has_similar_token",
    "tokenize",
]

EDITS = range(1, 3)
DEFAULT_EDITS = 2

BM25_K1 = 1.2
BM25_B = 0.75


def tokenize(text: str) -> tuple[str, ...]:
    """The words of a text, in order."""
    # Python counts the underscore as a word character.
    plain = text.lower().replace("_", " ")
    if any(_kind(char) is not _Kind.USUAL for char in set(plain) - _ASCII):
        return tuple(_unusual_words(plain))
    return tuple(_WORD.findall(plain))


_WORD = re.compile(r"\w+")
_ASCII = frozenset(map(chr, range(128)))


class _Kind(Enum):
    """How a character differs from what Python takes for a word character."""

    USUAL = "usual"
    MARK = "mark"
    LETTER = "letter"


@lru_cache(maxsize=1 << 14)
def _kind(char: str) -> _Kind:
    """Marks belong to words: without them Hindi or Thai would fall apart at every vowel sign.

    Letters in circles are symbols by category and letters by use. Characters that are younger than
    this Python are taken for letters, as most of them are. So every character that Lance takes for
    a part of a word is one here, whatever table of Unicode it has: no word is longer in an index.
    """
    category = unicodedata.category(char)
    if category[0] == "M":
        return _Kind.MARK
    circled = "\u24b6" <= char <= "\u24e9" or "\U0001f130" <= char <= "\U0001f189"
    return _Kind.LETTER if category == "Cn" or circled else _Kind.USUAL


def _unusual_words(text: str) -> Iterator[str]:
    start, lettered = 0, False
    for position, char in enumerate(text + " "):
        kind = _kind(char)
        if kind is _Kind.LETTER or char.isalnum():
            lettered = True
        elif kind is not _Kind.MARK:
            if lettered:
                yield text[start:position]
            start, lettered = position + 1, False


def has_any_token(text: str, query: str) -> bool:
    """``search``."""
    return not set(tokenize(query)).isdisjoint(tokenize(text))


def has_phrase(text: str, query: str) -> bool:
    """``match_text``."""
    words, phrase = tokenize(text), tokenize(query)
    starts = range(len(words) - len(phrase) + 1)
    return bool(phrase) and any(words[at : at + len(phrase)] == phrase for at in starts)


def has_similar_token(text: str, query: str, max_edits: int) -> bool:
    """``fuzzy``."""
    words = set(tokenize(text))
    return any(
        edit_distance(word, wanted) <= max_edits for wanted in tokenize(query) for word in words
    )


def edit_distance(left: str, right: str) -> int:
    """Levenshtein's: the fewest insertions, deletions and replacements between two words."""
    previous = list(range(len(right) + 1))
    for row, left_char in enumerate(left, start=1):
        current = [row]
        for column, right_char in enumerate(right, start=1):
            replaced = previous[column - 1] + (left_char != right_char)
            current.append(min(previous[column] + 1, current[-1] + 1, replaced))
        previous = current
    return previous[-1]


class Corpus:
    """The statistics of one String property over all its rows."""

    def __init__(self, texts: Iterable[str | None]) -> None:
        documents = [tokenize(text) for text in texts if text is not None]
        self._documents = len(documents)
        total = sum(len(words) for words in documents)
        self._average_length = total / len(documents) if documents else 0.0
        self._document_frequency = Counter(word for words in documents for word in set(words))

    def score(self, text: str, query: Sequence[str]) -> float:
        """BM25 of a text for the tokens of a query."""
        words = tokenize(text)
        counts = Counter(words)
        return math.fsum(
            self._inverse_frequency(word) * self._saturated(counts[word], len(words))
            for word in query
            if counts[word]
        )

    def _inverse_frequency(self, word: str) -> float:
        having = self._document_frequency[word]
        return math.log1p((self._documents - having + 0.5) / (having + 0.5))

    def _saturated(self, count: int, length: int) -> float:
        norm = 1 - BM25_B + BM25_B * length / self._average_length
        return count * (BM25_K1 + 1) / (count + BM25_K1 * norm)
