"""Tokens of text, the text predicates and BM25.

A token is a maximal run of letters, digits and combining marks, in lower case, with at least one
letter or digit. Circled letters are letters; so are characters that Unicode has not assigned.
"""

from __future__ import annotations

import math
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["bm25", "contains_any", "contains_phrase", "contains_similar", "tokens"]

_K1, _B = 1.2, 0.75
_CIRCLED = {*map(chr, range(0x24B6, 0x24EA)), *map(chr, range(0x1F130, 0x1F18A))}


def tokens(text: str) -> list[str]:
    """Split a text into its tokens."""
    separated = "".join(char if _is_part(char) else "\n" for char in text.lower())
    return [run for run in separated.split("\n") if any(map(_is_letter, run))]


def _is_letter(char: str) -> bool:
    return unicodedata.category(char)[0] in "LN" or _is_extra(char)


def _is_extra(char: str) -> bool:
    return unicodedata.category(char) == "Cn" or char in _CIRCLED


def _is_part(char: str) -> bool:
    return unicodedata.category(char)[0] in "LMN" or _is_extra(char)


def contains_any(text: str, query: str) -> bool:
    """``search``: the text and the query share a token."""
    return any(token in tokens(text) for token in tokens(query))


def contains_phrase(text: str, query: str) -> bool:
    """``match_text``: the tokens of the query follow each other in the text."""
    phrase = tokens(query)
    joined = "\n" + "\n".join(tokens(text)) + "\n"
    return phrase != [] and "\n" + "\n".join(phrase) + "\n" in joined


def contains_similar(text: str, query: str, edits: int) -> bool:
    """``fuzzy``: some token of the query is within so many edits of some token of the text."""
    return any(_edits(one, other) <= edits for one in tokens(query) for other in tokens(text))


@lru_cache(maxsize=100_000)
def _edits(left: str, right: str) -> int:
    """Levenshtein's distance, by its recursive definition."""
    if not left or not right:
        return len(left) + len(right)
    if left[0] == right[0]:
        return _edits(left[1:], right[1:])
    return 1 + min(_edits(left[1:], right), _edits(left, right[1:]), _edits(left[1:], right[1:]))


def bm25(text: str, query: str, corpus: Sequence[str]) -> float:
    """BM25 with the statistics of a corpus; a token counts as often as the query repeats it."""
    documents = [tokens(each) for each in corpus]
    words = tokens(text)
    mean = sum(map(len, documents)) / len(documents)
    terms = []
    for token in tokens(query):
        count = words.count(token)
        if count:
            holding = sum(token in document for document in documents)
            rarity = math.log1p((len(documents) - holding + 0.5) / (holding + 0.5))
            norm = 1 - _B + _B * len(words) / mean
            terms.append(rarity * (count * (_K1 + 1) / (count + _K1 * norm)))
    return math.fsum(terms)
