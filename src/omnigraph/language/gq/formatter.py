"""A query file in canonical form, with its comments."""

from __future__ import annotations

import re

from omnigraph.frozen import frozen
from omnigraph.language.gq.layout import Line, lay_out
from omnigraph.language.gq.parser import parse_queries
from omnigraph.language.gq.printer import document_layout
from omnigraph.language.lexer import tokenize
from omnigraph.language.source import Source

__all__ = ["format_queries"]

_PASSES_MAX = 4
_EMPTY_LINE = re.compile(r"[ \t\r]*\n[ \t\r]*\n")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


@frozen
class _Comment:
    offset: int
    text: str
    # It stands alone, not after something on its line.
    own_line: bool
    # It is the last thing in its braces.
    closes_block: bool
    # An empty line stands before it; after it.
    space_before: bool
    space_after: bool


def format_queries(source: Source) -> str:
    """The same queries and comments, laid out; raises ``SyntaxFailure`` where there are none.

    A comment on a line of its own stays above what follows it; any other moves to the end of the
    line of what it follows. One from the middle of an expression changes what fits on a line once
    it has moved, so the text is laid out until nothing moves.
    """
    text = _laid_out(source)
    for _ in range(_PASSES_MAX):
        before, text = text, _laid_out(Source(text, source.name))
        if text == before:
            break
    return text


def _laid_out(source: Source) -> str:
    document = parse_queries(source)
    comments = _comments(source)
    lines = lay_out(document_layout(document), [comment.offset for comment in comments])
    above: dict[int, list[_Comment]] = {}
    for comment in comments:
        if comment.closes_block:
            above.setdefault(_last_before(lines, comment.offset) + 1, []).append(comment)
        elif comment.own_line:
            above.setdefault(_first_after(lines, comment.offset), []).append(comment)
        else:
            line = lines[_last_before(lines, comment.offset)]
            # In one line: after a `//` on that line, the rest of it would be no comment.
            shown = " ".join(part.strip() for part in comment.text.split("\n"))
            line.text = f"{line.text} {shown}".lstrip()
    output: list[str] = []
    for index, line in enumerate([*lines, Line(0)]):
        for comment in above.get(index, []):
            output += _placed(comment, line, first=not output or not output[-1])
        output.append(str(line))
    return "\n".join(output).strip("\n") + "\n"


def _comments(source: Source) -> list[_Comment]:
    """Comments are what stands between two tokens and is not blank."""
    tokens, _ = tokenize(source)
    comments: list[_Comment] = []
    start = 0
    for token in tokens:
        gap = source.text[start : token.start]
        for found in _COMMENT.finditer(gap):
            before, after = gap[: found.start()], gap[found.end() :]
            comments.append(
                _Comment(
                    offset=start + found.start(),
                    text=found[0].rstrip(),
                    own_line=(own_line := "\n" in before or not start),
                    closes_block=own_line and token.text == "}",
                    space_before=_EMPTY_LINE.search(before[len(before.rstrip()) :]) is not None,
                    space_after=_EMPTY_LINE.match(after) is not None,
                )
            )
        start = token.end
    return comments


def _first_after(lines: list[Line], offset: int) -> int:
    """The line that was printed from what follows; past the end when nothing does."""
    found = (index for index, line in enumerate(lines) if any(at > offset for at in line.offsets))
    return next(found, len(lines))


def _last_before(lines: list[Line], offset: int) -> int:
    indexes = (
        index for index, line in enumerate(lines) if any(at <= offset for at in line.offsets)
    )
    return max(indexes, default=0)


def _placed(comment: _Comment, line: Line, *, first: bool) -> list[str]:
    """The comment as lines above another line; above a closing brace, inside of it."""
    indent = line.indent + (comment.closes_block and line.text.startswith("}"))
    placed = [str(Line(indent, text.strip())) for text in comment.text.split("\n")]
    if comment.space_before and not first:
        placed.insert(0, "")
    if comment.space_after and not comment.closes_block:
        placed.append("")
    return placed
