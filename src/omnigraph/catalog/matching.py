"""Match a pattern of ``@check`` without backtracking.

Python backtracks, which takes exponential time for some patterns. This matcher follows all
alternatives at once: each pattern node maps a set of text positions to another set. The shared
constructs (see ``patterns``) have neither backreferences nor lookaround, so sets of positions
suffice. Python tests single characters.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "PatternNode",
    "PatternTooExpensive",
    "expanded_size",
    "matches",
    "max_repetitions",
    "parse_pattern",
]

# Tens of milliseconds; a schema may have a thousand defaults.
_STEPS_MAX = 50_000


class PatternTooExpensive(Exception):
    """The match exceeded its budget of steps."""


@frozen
class Single:
    """A single character."""

    test: re.Pattern[str]


@frozen
class Anchor:
    """A zero-width assertion: ``^``, ``$``, ``\\b``."""

    test: re.Pattern[str]


@frozen
class Sequence:
    """Pattern nodes in a row."""

    nodes: tuple[PatternNode, ...]


@frozen
class Alternation:
    """One of several pattern nodes."""

    options: tuple[PatternNode, ...]


@frozen
class Repeat:
    """A repeated pattern node; ``high`` None is unbounded."""

    node: PatternNode
    low: int
    high: int | None


PatternNode: TypeAlias = Single | Anchor | Sequence | Alternation | Repeat


def matches(node: PatternNode, text: str) -> bool:
    """Return whether the whole text matches."""
    return len(text) in _Match(text).ends(node, {0})


def max_repetitions(node: PatternNode) -> int:
    """Return the largest number of repetitions of a character, multiplying nested counts."""
    match node:
        case Sequence(nodes) | Alternation(nodes):
            return max(map(max_repetitions, nodes), default=1)
        case Repeat(inner, low, high):
            return max_repetitions(inner) * max(1, low if high is None else high)
        case _:
            return 1


def expanded_size(node: PatternNode) -> int:
    """Return the length of the pattern with its counts expanded."""
    match node:
        case Sequence(nodes) | Alternation(nodes):
            return sum(map(expanded_size, nodes))
        case Repeat(inner, low, high):
            return expanded_size(inner) * max(1, low if high is None else high)
        case _:
            return 1


class _Match:
    """A match of one text, with its remaining budget of steps."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._budget = _STEPS_MAX

    def ends(self, node: PatternNode, starts: set[int]) -> set[int]:
        """Return the positions where a node can end that starts at one of the given positions."""
        self._budget -= len(starts) + 1
        if self._budget < 0:
            raise PatternTooExpensive
        match node:
            case Single(test):
                return {at + 1 for at in starts if test.fullmatch(self._text, at, at + 1)}
            case Anchor(test):
                return {at for at in starts if test.match(self._text, at)}
            case Sequence(nodes):
                for each in nodes:
                    starts = self.ends(each, starts)
                return starts
            case Alternation(options):
                return {end for option in options for end in self.ends(option, starts)}
            case Repeat(inner, low, high):
                return self._repeated(inner, starts, low, high)

    def _repeated(
        self, node: PatternNode, starts: set[int], low: int, high: int | None
    ) -> set[int]:
        for _ in range(low):
            if not starts:
                return starts
            starts = self.ends(node, starts)
        reached, fresh, times = set(starts), starts, low
        while fresh and (high is None or times < high):
            fresh = self.ends(node, fresh) - reached
            reached |= fresh
            times += 1
        return reached


# --- parsing --- --------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"\\x..|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[ims]*:|\{[0-9]+(?:,[0-9]*)?\}|.", re.DOTALL
)
_ANCHORS = frozenset({"^", "$", r"\b", r"\B", r"\A"})
_COUNTS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}


def parse_pattern(pattern: str) -> PatternNode:
    """Parse a pattern that ``patterns`` accepts."""
    return _PatternParser(_TOKEN.findall(pattern)).choice(re.ASCII)


class _PatternParser:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    def choice(self, flags: int) -> PatternNode:
        """Parse alternatives up to the end of the group."""
        options = [self._sequence(flags)]
        while self._accept("|"):
            options.append(self._sequence(flags))
        return options[0] if len(options) == 1 else Alternation(tuple(options))

    def _sequence(self, flags: int) -> PatternNode:
        return Sequence(tuple(self._nodes(flags)))

    def _nodes(self, flags: int) -> Iterator[PatternNode]:
        while self._token not in ("", "|", ")"):
            node = self._atom(flags)
            if counts := _counts(self._token):
                self._at += 1
                # A lazy repetition has the same end positions as a greedy one.
                self._accept("?")
                node = Repeat(node, *counts)
            yield node

    def _atom(self, flags: int) -> PatternNode:
        opening = self._token
        self._at += 1
        if opening == "(" or opening.startswith("(?"):
            inner = self.choice(_with_flags(flags, opening))
            self._at += 1
            return inner
        test = re.compile(opening, flags)
        return Anchor(test) if opening in _ANCHORS else Single(test)

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
