"""A small pretty printer: documents of text and possible line breaks, laid out to a width."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from omnigraph.frozen import frozen
from omnigraph.language.source import NO_SPAN, Span

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["HARD", "SOFT", "SPACE", "Break", "Doc", "Group", "Line", "Mark", "Nest", "lay_out"]

INDENT = "    "
WIDTH = 100


@frozen
class Break:
    """A new line, or ``flat`` where its group fits on one line; None is always a new line."""

    flat: str | None


@frozen
class Mark:
    """Prints nothing; remembers where in the source the text after it came from."""

    offset: int


@frozen
class Group:
    """Printed on one line if it fits, else all of its own breaks are new lines.

    ``span`` is the range of the source that it was printed from.
    """

    doc: Doc
    span: Span = NO_SPAN


@frozen
class Nest:
    """New lines inside are indented one step further."""

    doc: Doc


Doc = str | Break | Mark | Group | Nest | tuple["Doc", ...]

HARD = Break(None)
SPACE = Break(" ")
SOFT = Break("")


@dataclass(slots=True)
class Line:
    """A line of output, and the source offsets that it was printed from."""

    indent: int
    text: str = ""
    offsets: list[int] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{INDENT * self.indent}{self.text}".rstrip()


def lay_out(doc: Doc, comments: Sequence[int] = ()) -> list[Line]:
    """The lines of a document; a group in which a comment stood is never put on one line."""
    printer = _Printer(comments)
    printer.append(doc, indent=0, flat=False)
    return printer.lines


class _Printer:
    def __init__(self, comments: Sequence[int]) -> None:
        self.lines = [Line(0)]
        self._comments = comments

    def append(self, doc: Doc, *, indent: int, flat: bool) -> None:
        match doc:
            case str():
                self.lines[-1].text += doc
            case Mark(offset):
                self.lines[-1].offsets.append(offset)
            case Break(text):
                if flat and text is not None:
                    self.lines[-1].text += text
                else:
                    self.lines.append(Line(indent))
            case Nest(inner):
                self.append(inner, indent=indent + 1, flat=flat)
            case Group(inner):
                self.append(inner, indent=indent, flat=flat or self._fits(doc))
            case parts:
                for part in parts:
                    self.append(part, indent=indent, flat=flat)

    def _fits(self, group: Group) -> bool:
        if any(group.span.start <= comment < group.span.end for comment in self._comments):
            return False
        return _width(group.doc) <= WIDTH - len(str(self.lines[-1]))


def _width(doc: Doc) -> float:
    """The width on one line; infinite where a new line is certain."""
    match doc:
        case str():
            return len(doc)
        case Mark():
            return 0
        case Break(text):
            return float("inf") if text is None else len(text)
        case Nest(inner) | Group(inner):
            return _width(inner)
        case parts:
            return sum(_width(part) for part in parts)
