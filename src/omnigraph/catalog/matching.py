"""Matching a pattern of ``@check`` without backtracking.

Python tries one way after the other, which for some patterns takes longer than anyone waits. Here
all ways are tried at once: a part of a pattern leads from a set of places in the text to another
set. The shared constructs (see ``patterns``) have neither memory nor lookaround, so nothing else
is needed. What a single character means is left to Python.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Part", "TooMuchWork", "matches", "parse_pattern", "repetitions", "written_out"]

# Some hundredths of a second, and a schema may have a thousand defaults.
_WORK_MAX = 50_000


class TooMuchWork(Exception):
    """The pattern and the text take more steps than are spent on them."""


@frozen
class Single:
    """One character."""

    test: re.Pattern[str]


@frozen
class Place:
    """A place between characters: ``^``, ``$``, ``\\b``."""

    test: re.Pattern[str]


@frozen
class Sequence:
    """One part after the other."""

    parts: tuple[Part, ...]


@frozen
class Choice:
    """One part or another."""

    options: tuple[Part, ...]


@frozen
class Repeat:
    """A part several times; without an upper bound as often as it likes."""

    part: Part
    low: int
    high: int | None


Part: TypeAlias = Single | Place | Sequence | Choice | Repeat


def matches(part: Part, text: str) -> bool:
    """Whether the whole text matches."""
    return len(text) in _Walk(text).ends(part, {0})


def repetitions(part: Part) -> int:
    """How often counts repeat the most repeated character, counts within counts included."""
    match part:
        case Sequence(parts) | Choice(parts):
            return max(map(repetitions, parts), default=1)
        case Repeat(inner, low, high):
            return repetitions(inner) * max(1, low if high is None else high)
        case _:
            return 1


def written_out(part: Part) -> int:
    """How many characters the pattern has once its counts are written out."""
    match part:
        case Sequence(parts) | Choice(parts):
            return sum(map(written_out, parts))
        case Repeat(inner, low, high):
            return written_out(inner) * max(1, low if high is None else high)
        case _:
            return 1


class _Walk:
    """One text, and the work that is left."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._left = _WORK_MAX

    def ends(self, part: Part, starts: set[int]) -> set[int]:
        """Where the part can end that begins at one of the places."""
        self._left -= len(starts) + 1
        if self._left < 0:
            raise TooMuchWork
        match part:
            case Single(test):
                return {at + 1 for at in starts if test.fullmatch(self._text, at, at + 1)}
            case Place(test):
                return {at for at in starts if test.match(self._text, at)}
            case Sequence(parts):
                for each in parts:
                    starts = self.ends(each, starts)
                return starts
            case Choice(options):
                return {end for option in options for end in self.ends(option, starts)}
            case Repeat(inner, low, high):
                return self._repeated(inner, starts, low, high)

    def _repeated(self, part: Part, starts: set[int], low: int, high: int | None) -> set[int]:
        for _ in range(low):
            if not starts:
                return starts
            starts = self.ends(part, starts)
        reached, fresh, times = set(starts), starts, low
        while fresh and (high is None or times < high):
            fresh = self.ends(part, fresh) - reached
            reached |= fresh
            times += 1
        return reached


# --- reading -----------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"\\x..|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[ims]*:|\{[0-9]+(?:,[0-9]*)?\}|.", re.DOTALL
)
_PLACES = frozenset({"^", "$", r"\b", r"\B", r"\A"})
_COUNTS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}


def parse_pattern(pattern: str) -> Part:
    """The parts of a pattern that Python compiles and that uses shared constructs only."""
    return _Reader(_TOKEN.findall(pattern)).choice(re.ASCII)


class _Reader:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    def choice(self, flags: int) -> Part:
        """Everything up to the end of the group."""
        options = [self._sequence(flags)]
        while self._accept("|"):
            options.append(self._sequence(flags))
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _sequence(self, flags: int) -> Part:
        return Sequence(tuple(self._parts(flags)))

    def _parts(self, flags: int) -> Iterator[Part]:
        while self._token not in ("", "|", ")"):
            part = self._atom(flags)
            if counts := _counts(self._token):
                self._at += 1
                # A lazy repetition finds another match first, but not other ends.
                self._accept("?")
                part = Repeat(part, *counts)
            yield part

    def _atom(self, flags: int) -> Part:
        opening = self._token
        self._at += 1
        if opening == "(" or opening.startswith("(?"):
            inner = self.choice(_with_flags(flags, opening))
            self._at += 1
            return inner
        test = re.compile(opening, flags)
        return Place(test) if opening in _PLACES else Single(test)

    @property
    def _token(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _accept(self, token: str) -> bool:
        found = self._token == token
        self._at += found
        return found


def _counts(token: str) -> tuple[int, int | None] | None:
    if len(token) < 2 or token[0] != "{":
        return _COUNTS.get(token)
    low, comma, high = token[1:-1].partition(",")
    return int(low), int(high) if high else None if comma else int(low)


def _with_flags(flags: int, opening: str) -> int:
    for letter in opening[2:-1]:
        flags |= _FLAGS[letter]
    return flags
