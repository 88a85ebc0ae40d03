"""Source texts and positions in them."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from omnigraph.frozen import frozen

__all__ = ["DEFAULT_SOURCE_NAME", "NO_SPAN", "Position", "Source", "Span"]


@frozen
class Span:
    """A half-open range of character offsets."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The range from the start of this one to the end of the other."""
        return Span(self.start, other.end)


NO_SPAN = Span(0, 0)

# Diagnostics name a query text by it when the caller does not.
DEFAULT_SOURCE_NAME = "<query>"


@frozen
class Position:
    """Line and column, both counted from 1, columns in characters."""

    line: int
    column: int


@dataclass(frozen=True)
class Source:
    """A text with a name. Line starts are found on first use: a clean parse never needs them."""

    text: str
    name: str = "<input>"
    _starts: list[int] = field(default_factory=list, repr=False, compare=False)

    def position(self, offset: int) -> Position:
        """Where an offset lies."""
        starts = self._line_starts()
        line = bisect_right(starts, offset) - 1
        return Position(line + 1, offset - starts[line] + 1)

    def line(self, number: int) -> str:
        """One line, without its end."""
        starts = self._line_starts()
        end = starts[number] - 1 if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r")

    def _line_starts(self) -> list[int]:
        if not self._starts:
            starts = [0]
            at = self.text.find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = self.text.find("\n", at + 1)
            self._starts.extend(starts)
        return self._starts
