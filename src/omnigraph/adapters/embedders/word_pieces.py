"""The tokeniser of BERT models in lower case: words, then the longest pieces of a vocabulary."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["WordPieces"]

_WORD_CHARS_MAX = 100
_CJK = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class WordPieces:
    """Maps texts to numbers of pieces."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._vocabulary = vocabulary
        self._first = vocabulary["[CLS]"]
        self._last = vocabulary["[SEP]"]
        self._unknown = vocabulary["[UNK]"]
        self._known: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str, length_max: int) -> list[int]:
        """Return the pieces of a text between the two special pieces, at most ``length_max``."""
        pieces = [self._first]
        for word in _words(text):
            pieces += self._encode_word(word)
            if len(pieces) >= length_max:
                break
        return [*pieces[: length_max - 1], self._last]

    def _encode_word(self, word: str) -> tuple[int, ...]:
        found = self._known.get(word)
        if found is None:
            found = self._split(word)
            if len(self._known) < 2**16:
                self._known[word] = found
        return found

    def _split(self, word: str) -> tuple[int, ...]:
        if len(word) > _WORD_CHARS_MAX:
            return (self._unknown,)
        pieces, start = [], 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                piece = self._vocabulary.get(prefix + word[start:end])
                if piece is not None:
                    break
            else:
                return (self._unknown,)
            pieces.append(piece)
            start = end
        return tuple(pieces)


def _words(text: str) -> Iterator[str]:
    """Yield the words and punctuation marks of a text in lower case without accents."""
    clean = "".join(map(_cleaned, text))
    for run in clean.split():
        bare = unicodedata.normalize("NFD", run).lower()
        yield from _at_punctuation(
            "".join(char for char in bare if unicodedata.category(char) != "Mn")
        )


def _cleaned(char: str) -> str:
    if char.isascii() and char.isalnum():
        return char
    code = ord(char)
    if char in "\t\n\r" or unicodedata.category(char) == "Zs":
        return " "
    if code in (0, 0xFFFD) or unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs"):
        return ""
    if any(low <= code <= high for low, high in _CJK):
        return f" {char} "
    return char


def _at_punctuation(run: str) -> Iterator[str]:
    word = ""
    for char in run:
        if _is_punctuation(char):
            if word:
                yield word
            yield char
            word = ""
        else:
            word += char
    if word:
        yield word


def _is_punctuation(char: str) -> bool:
    if char.isascii():
        return not char.isalnum() and char.isprintable() and char != " "
    return unicodedata.category(char).startswith("P")
