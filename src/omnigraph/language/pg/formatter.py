"""A schema file in canonical layout, with its comments and in its own order."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from omnigraph.frozen import frozen
from omnigraph.language.lexer import tokenize
from omnigraph.language.pg.ast import EdgeDecl, InterfaceDecl, NodeDecl, SchemaDocument
from omnigraph.language.pg.parser import parse_schema
from omnigraph.language.pg.printer import print_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.language.pg.ast import Constraint, PropertyDecl
    from omnigraph.language.source import Source

__all__ = ["format_schema"]

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_INDENT = "    "

_Declaration = InterfaceDecl | NodeDecl | EdgeDecl


@frozen
class _Comment:
    offset: int
    text: str
    # It stands alone, not after something on its line.
    own_line: bool
    # An empty line stands above it.
    apart: bool

    def lines(self) -> list[str]:
        return [line.strip() for line in self.text.split("\n")]


@dataclass(slots=True)
class _Line:
    """A printed line, where it came from, and the comments that belong to it."""

    offset: int
    text: str
    above: list[_Comment] = field(default_factory=list)
    beside: list[_Comment] = field(default_factory=list)
    # An empty line stands between it, or the first comment above it, and what comes before.
    apart: bool = False
    # An empty line stands between the comments above it and itself.
    detached: bool = False

    def printed(self) -> Iterator[str]:
        indent = self.text[: len(self.text) - len(self.text.lstrip())]
        # Above a closing brace is inside of the body.
        indent = indent or (_INDENT if self.text == "}" else "")
        for index, comment in enumerate(self.above):
            if index and comment.apart:
                yield ""
            yield from (f"{indent}{line}".rstrip() for line in comment.lines())
        if self.detached and self.text not in ("", "}"):
            yield ""
        yield " ".join([self.text, *(" ".join(comment.lines()) for comment in self.beside)])


def format_schema(source: Source) -> str:
    """The same declarations and comments, laid out; raises ``SyntaxFailure`` where there are none.

    A comment on a line of its own stays above what follows it; any other moves to the end of the
    line of what it follows. Empty lines stay where they separate something, one at a time.
    """
    document = parse_schema(source)
    declarations: list[_Declaration] = [*document.interfaces, *document.nodes, *document.edges]
    blocks = [_lines_of(decl) for decl in sorted(declarations, key=lambda decl: decl.span.start)]
    ending = [_Line(len(source.text), "")]
    _attach_comments(source, [line for block in [*blocks, ending] for line in block])
    output: list[str] = []
    for before, block in pairwise([[], *blocks, ending]):
        if before and _are_apart(before, block):
            output.append("")
        output += _printed_block(block)
    text = "\n".join(output).strip("\n")
    return f"{text}\n" if text else ""


def _printed_block(block: list[_Line]) -> list[str]:
    output: list[str] = []
    for index, line in enumerate(block):
        # Nothing is parted from the braces around it.
        if index > 1 and line.apart and (line.text != "}" or line.above):
            output.append("")
        output += line.printed()
    if output[-2:] == [block[0].text, "}"]:
        output[-2:] = [f"{block[0].text}}}"]
    return output


def _are_apart(before: list[_Line], block: list[_Line]) -> bool:
    """Edges without a body may stand line under line; everything else has room around it."""
    if block[0].text:
        return len(before) > 1 or len(block) > 1 or block[0].apart
    return block[0].apart


def _lines_of(decl: _Declaration) -> list[_Line]:
    """The head, the properties, the constraints and the closing brace, as they are printed."""
    printed = [line for line in print_schema(_alone(decl)).split("\n") if line]
    if printed[0].endswith("{}"):
        # Comments may stand between the braces; without any they close up again.
        printed = [printed[0].removesuffix("}"), "}"]
    if len(printed) == 1:
        return [_Line(decl.span.start, printed[0])]
    items: list[PropertyDecl | Constraint] = [*decl.properties, *decl.constraints]
    offsets = [decl.span.start, *(item.span.start for item in items), decl.span.end - 1]
    lines = [_Line(offset, text) for offset, text in zip(offsets, printed, strict=True)]
    if decl.properties and decl.constraints:
        lines[1 + len(decl.properties)].apart = True
    return lines


def _alone(decl: _Declaration) -> SchemaDocument:
    match decl:
        case InterfaceDecl():
            return SchemaDocument((decl,), (), ())
        case NodeDecl():
            return SchemaDocument((), (decl,), ())
        case EdgeDecl():
            return SchemaDocument((), (), (decl,))


def _attach_comments(source: Source, lines: list[_Line]) -> None:
    """Give every comment to a line, and notice the empty lines of the source."""
    ordered = sorted(lines, key=lambda line: line.offset)
    starts = [line.offset for line in ordered]
    for comment in _comments(source):
        following = bisect_right(starts, comment.offset)
        if comment.own_line:
            ordered[following].above.append(comment)
        else:
            ordered[following - 1].beside.append(comment)
    for line in ordered:
        parted = _is_apart(source, line.offset)
        line.apart = line.apart or (line.above[0].apart if line.above else parted)
        line.detached = bool(line.above) and parted


def _comments(source: Source) -> Iterator[_Comment]:
    """Comments are what stands between two tokens and is not blank."""
    tokens, _ = tokenize(source)
    start = 0
    for token in tokens:
        gap = source.text[start : token.start]
        for found in _COMMENT.finditer(gap):
            offset = start + found.start()
            own_line = "\n" in gap[: found.start()] or not start
            yield _Comment(offset, found[0].rstrip(), own_line, _is_apart(source, offset))
        start = token.end


def _is_apart(source: Source, offset: int) -> bool:
    """Whether an empty line stands above what begins here."""
    start = offset
    while start and source.text[start - 1].isspace():
        start -= 1
    return source.text.count("\n", start, offset) > 1
