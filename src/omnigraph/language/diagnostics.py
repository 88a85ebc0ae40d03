"""Diagnostics of a text: code, place, remedy."""

from __future__ import annotations

import unicodedata
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Any

from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from omnigraph.errors import InvalidInput
    from omnigraph.language.source import Source, Span

__all__ = ["MAX_REPORTED", "Diagnostic", "Severity", "did_you_mean", "failure", "render", "suggest"]

# A text with more errors than this is better read than listed.
MAX_REPORTED = 50
_LINE_SHOWN_MAX = 160
# Comparing words is slow: nobody mistypes a text, and nobody reads a guess out of thousands.
_SUGGESTED_CHARS_MAX = 255
_SUGGESTED_FROM_MAX = 1_000
_LISTED_MAX = 20
# They turn the direction of writing: what follows them is not what it seems.
_DIRECTIONS = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class Severity(StrEnum):
    """How bad it is; only errors stop anything."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@frozen
class Diagnostic:
    """One finding in one source; ``remedy`` proposes a correction."""

    code: str
    message: str
    span: Span
    remedy: str
    severity: Severity = Severity.ERROR

    def to_json(self, source: Source) -> dict[str, Any]:
        """The finding with file, line and column, for ``--json``."""
        at = source.position(self.span.start)
        return {
            "severity": self.severity.value,
            "code": self.code,
            "message": self.message,
            "file": source.name,
            "line": at.line,
            "column": at.column,
            "remedy": self.remedy,
        }


def render(source: Source, diagnostic: Diagnostic) -> str:
    """The finding for a person: place, message, the line with a caret under it, remedy."""
    at = source.position(diagnostic.span.start)
    line, column = _excerpt(source.line(at.line), at.column - 1)
    marked = line[column : column + diagnostic.span.end - diagnostic.span.start]
    # Tabs are kept in the padding so that the caret stays under its column.
    padding = "".join("\t" if char == "\t" else " " * _cells(char) for char in line[:column])
    carets = "^" * max(1, sum(map(_cells, marked)))
    return (
        f"{source.name}:{at.line}:{at.column}: {diagnostic.severity.value} "
        f"[{diagnostic.code}] {_visible(diagnostic.message)}\n    {line}\n    {padding}{carets}\n"
        f"  help: {_visible(diagnostic.remedy)}"
    )


def _visible(text: str) -> str:
    """Each character that would move the cursor, or turn the line around, as one that does not."""
    if text.isprintable():
        return text
    return "".join(_stand_in(char) for char in text)


def _stand_in(char: str) -> str:
    if char < " " and char not in "\t\n":
        return chr(0x2400 + ord(char))
    moving = unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") and char not in "\t\n"
    return "\ufffd" if moving or char in _DIRECTIONS else char


def _cells(char: str) -> int:
    """How many cells of a terminal a character takes."""
    if char.isascii():
        return 1
    if unicodedata.combining(char) or unicodedata.category(char) == "Cf":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _excerpt(line: str, column: int) -> tuple[str, int]:
    """The part of a long line around a column, and where the column lies in it."""
    if len(line) <= _LINE_SHOWN_MAX:
        return _visible(line), column
    start = max(0, column - _LINE_SHOWN_MAX // 2)
    shown = _visible(line[start : start + _LINE_SHOWN_MAX])
    return (f"…{shown}", column - start + 1) if start else (shown, column)


def failure(
    kind: type[InvalidInput], source: Source, diagnostics: Sequence[Diagnostic]
) -> InvalidInput:
    """All diagnostics of one text as one error; the first one gives it its code."""
    ordered = sorted(diagnostics, key=lambda found: (found.span.start, found.code))
    shown, left = ordered[:MAX_REPORTED], ordered[MAX_REPORTED:]
    lines = [render(source, found) for found in shown]
    if left:
        lines.append(f"… and {len(left)} more")
    return kind(
        ordered[0].code,
        "\n".join(lines),
        details={"diagnostics": [found.to_json(source) for found in shown]},
    )


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A remedy that names the closest known word, or none that is close."""
    if len(word) > _SUGGESTED_CHARS_MAX:
        return None
    by_folded = {name.casefold(): name for name in islice(known, _SUGGESTED_FROM_MAX)}
    import difflib  # noqa: PLC0415 - only a mistake needs it

    close = difflib.get_close_matches(word.casefold(), list(by_folded), n=1, cutoff=0.6)
    return f"did you mean `{by_folded[close[0]]}`?" if close else None


def suggest(word: str, known: Iterable[str]) -> str:
    """A remedy that names the closest known word, or else the first known words."""
    names = list(known)
    return did_you_mean(word, names) or f"there are {', '.join(names[:_LISTED_MAX])}"
