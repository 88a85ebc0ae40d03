"""The exact JSON decoder: values from a stream of text, with positions.

It is slow and defines the semantics of an input: one value per line, values over several lines,
several values on one line, or one array of all values. A malformed value becomes a problem, and
decoding resumes at the next line that begins with a brace.
"""

from __future__ import annotations

import codecs
import json
import re
from dataclasses import replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, NoReturn

from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Decoded", "Decoder", "JsonProblem", "read_json"]

_SPACE = re.compile(r"[ \t\r\n]*")
_NEXT_RECORD = re.compile(r"^\{", re.MULTILINE)
# A literal, number or escape that is truncated at the end of a piece is no longer than this.
_CUT_MAX = 16
_PIECE_CHARS = 2**16
# No type accepts a number with more digits, and Python refuses some thousands.
_DIGITS_MAX = 1_000


@frozen
class JsonProblem:
    """The reason why a record is unreadable, and its text up to where decoding resumed."""

    rule: str
    message: str
    text: str | None = None


@frozen
class Decoded:
    """A JSON value or a problem, and the line on which it begins."""

    value: Any
    line: int


class _State(Enum):
    """The expected next token."""

    ANYTHING = auto()  # at the start
    VALUE = auto()  # in a sequence of values
    FIRST_ITEM = auto()  # after the opening bracket: an item, or the closing one
    ITEM = auto()  # after a comma: an item
    COMMA = auto()  # after an item: a comma, or the closing bracket
    CLOSED = auto()  # after the array
    LOST = auto()  # after a problem: a line that begins with a brace
    OVER = auto()  # after a problem in an array: decoding cannot resume


_OPEN = (_State.FIRST_ITEM, _State.ITEM, _State.COMMA)
_ARRAY = (*_OPEN, _State.CLOSED, _State.OVER)
# Transitions by punctuation of an array.
_PUNCTUATION = {
    (_State.ANYTHING, "["): _State.FIRST_ITEM,
    (_State.FIRST_ITEM, "]"): _State.CLOSED,
    (_State.COMMA, ","): _State.ITEM,
    (_State.COMMA, "]"): _State.CLOSED,
}


class Decoder:
    """An incremental decoder: bytes in, values out."""

    def __init__(self) -> None:
        self._text = ""
        # The position in the text up to which lines are counted.
        self._counted = 0
        self._line = 1
        self._state = _State.ANYTHING
        # Bytes that are not UTF-8 stay recognisable, so that a message can name them.
        self._to_text = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
        self._scan = _json().raw_decode

    @property
    def pending(self) -> int:
        """The number of buffered characters of an incomplete value."""
        return len(self._text)

    @property
    def line(self) -> int:
        """The line on which the pending value begins."""
        return self._line

    @property
    def between_lines(self) -> bool:
        """Whether the next piece can be parsed independently, line by line."""
        return not self._text and self._state in (_State.ANYTHING, _State.VALUE)

    def feed(self, piece: bytes, *, line: int | None = None, last: bool = False) -> list[Decoded]:
        """Decode one more piece; return the complete values, or all after the last piece.

        ``line`` is the line on which the piece begins, if no value is pending.
        """
        if line is not None and not self._text:
            self._line = line
        self._text += self._to_text(piece, last)
        return list(self._values(last=last))

    def _values(self, *, last: bool) -> Iterator[Decoded]:
        at = self._skip(0)
        while at < len(self._text):
            value, end = self._misplaced(at) or self._value(at, last=last)
            if value is _INCOMPLETE:
                break
            line = self._line_of(at)
            if isinstance(value, JsonProblem):
                after = self._skip(self._recover(at))
                yield Decoded(replace(value, text=self._text[at:after].rstrip()), line)
            else:
                yield Decoded(value, line)
                self._state = _State.COMMA if self._state in _ARRAY else _State.VALUE
                after = self._skip(end)
            at = after
        if last and self._state in _OPEN:
            yield Decoded(JsonProblem("json", "the array is not closed"), self._line_of(at))
        self._line_of(at)
        self._text = self._text[at:]
        self._counted = 0

    # --- one step ---

    def _skip(self, at: int) -> int:
        """Return the start of the next value, after space and punctuation of an array."""
        if self._state is _State.OVER:
            return len(self._text)
        if self._state is _State.LOST:
            return self._find_record(at)
        while True:
            found = _SPACE.match(self._text, at)
            at = found.end() if found else at
            after = _PUNCTUATION.get((self._state, self._text[at : at + 1]))
            if after is None:
                return at
            self._state = after
            at += 1

    def _misplaced(self, at: int) -> tuple[JsonProblem, int] | None:
        match self._state:
            case _State.COMMA:
                return JsonProblem("json", f"a comma is missing before {self._text[at]!r}"), at
            case _State.CLOSED:
                what = f"unexpected {self._text[at]!r} after the end of the array"
                return JsonProblem("json", what), at
            case _:
                return None

    def _value(self, at: int, *, last: bool) -> tuple[Any, int]:
        """Decode the value that begins here; return it and its end."""
        # Most values end with their line; growing pieces bound the cost of an error.
        for end_of_piece in self._prefix_ends(at):
            value, end = self._scan_text(self._text[at:end_of_piece], last=False)
            if value is not _INCOMPLETE:
                return value, at + end
        value, end = self._scan_text(self._text[at:], last=last)
        return value, at + end

    def _prefix_ends(self, at: int) -> Iterator[int]:
        """Yield the ends of ever larger pieces of the text."""
        end_of_line = self._text.find("\n", at)
        if end_of_line >= 0:
            yield end_of_line
        size = _PIECE_CHARS
        while at + size < len(self._text):
            yield at + size
            size *= 8

    def _scan_text(self, text: str, *, last: bool) -> tuple[Any, int]:
        try:
            value, end = self._scan(text)
        except json.JSONDecodeError as error:
            cut = not last and _may_be_cut(text, error)
            return _INCOMPLETE if cut else _syntax_problem(text, error), 0
        except RecursionError:
            return JsonProblem("json", "the record is nested too deeply"), 0
        except ValueError as error:
            return JsonProblem("json", str(error)), 0
        return _encoding_problem(text[:end]) or value, end

    def _recover(self, at: int) -> int:
        """Return the position at which decoding resumes after a problem."""
        if self._state in _ARRAY:
            self._state = _State.OVER
            return len(self._text)
        self._state = _State.LOST
        return at + 1

    def _find_record(self, at: int) -> int:
        found = _NEXT_RECORD.search(self._text, at)
        if found is None:
            return len(self._text)
        self._state = _State.VALUE
        return found.start()

    def _line_of(self, at: int) -> int:
        self._line += self._text.count("\n", self._counted, at)
        self._counted = at
        return self._line


def read_json(text: str) -> Any:
    """Decode one JSON text as in a stream; raise ``ValueError`` if it is not JSON."""
    return _json().decode(text)


def _json() -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=_distinct, parse_constant=_refuse_constant, parse_int=_whole
    )


def _may_be_cut(text: str, error: json.JSONDecodeError) -> bool:
    """Return whether more text could complete the value."""
    return error.pos >= len(text) - _CUT_MAX or error.msg.startswith("Unterminated")


def _syntax_problem(text: str, error: json.JSONDecodeError) -> JsonProblem:
    if error.pos >= len(text.rstrip()):
        return JsonProblem("json", "the record is not complete")
    what = error.msg.removesuffix(" at").removesuffix(" starting")
    return _encoding_problem(text[: error.pos + 1]) or JsonProblem(
        "json", f"{what[0].lower()}{what[1:]} at {text[error.pos]!r}"
    )


def _encoding_problem(text: str) -> JsonProblem | None:
    if text.isascii():
        return None
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return JsonProblem("encoding", f"byte 0x{ord(text[error.start]) & 0xFF:02X} is not UTF-8")
    return None


_INCOMPLETE = object()


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object; a duplicate name is ambiguous and rejected."""
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"duplicate name {twice!r} in one object")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _whole(digits: str) -> int | float:
    if len(digits) > _DIGITS_MAX:
        raise ValueError(f"a number has {len(digits)} digits")
    # An integer cannot represent minus zero.
    return -0.0 if digits == "-0" else int(digits)
