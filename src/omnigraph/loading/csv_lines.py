"""The line numbers of the rows of a CSV file.

The parser does not report lines, and rows are not lines: cells may contain newlines, and blank
lines are not rows. The bytes are read again, but only for a faulty row, and only if they are
unchanged.
"""

from __future__ import annotations

import re
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnigraph.errors import GraphError
from omnigraph.loading.byte_streams import CorruptStream, open_stream
from omnigraph.runtime.cancellation import check_cancelled

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CsvLines"]

_BLOCK_BYTES = 2**22
_BOM = b"\xef\xbb\xbf"
# Agrees with the parser: a quote is special only at the start of a cell, and text after the closing
# quote belongs to the cell. Possessive, so that an open quote never matches as another cell.
_CELL = rb'(?:"(?:[^"]++|"")*+"[^,\r\n]*+|[^",\r\n][^,\r\n]*+|)'
_ROW = re.compile(rb"(?:\r\n|[\r\n])|" + _CELL + rb"(?:," + _CELL + rb")*+(?:\r\n|[\r\n])")
_BLANK = (b"\n", b"\r", b"\r\n")


class CsvLines:
    """The line numbers of the rows of one input, computed on demand."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self._as_it_was = _state(source)
        self._begins = array("q")
        self._rows: Iterator[int] | None = None

    def line(self, row: int) -> int | None:
        """Return the line of a row, counted from 0 after the header; None if unknown."""
        if self._as_it_was is None or self._as_it_was != _state(self._source):
            return None
        if self._rows is None:
            self._rows = _row_lines(self._source)
        try:
            # The header is a row too.
            while len(self._begins) <= row + 1:
                self._begins.append(next(self._rows))
        except (StopIteration, CorruptStream, GraphError, OSError):
            return None
        return self._begins[row + 1]


def _state(source: Any) -> object:
    """Return a value that changes with the bytes; None if they cannot be read again."""
    if isinstance(source, bytes):
        return True
    if isinstance(source, str | Path):
        try:
            # A pipe cannot be read twice.
            found = Path(source).stat() if Path(source).is_file() else None
        except (OSError, ValueError):
            return None
        return found and (found.st_ino, found.st_size, found.st_mtime_ns)
    return None


def _row_lines(source: Any) -> Iterator[int]:
    line = 1
    with open_stream(source) as (_, stream):
        held = stream.read(_BLOCK_BYTES).removeprefix(_BOM)
        more = True
        while held and more:
            check_cancelled()
            block = stream.read(_BLOCK_BYTES)
            more = bool(block)
            at = 0
            while found := _ROW.match(held, at):
                if found.end() == len(held) and more:
                    # The next byte may complete this line ending.
                    break
                row, at = found.group(), found.end()
                if row not in _BLANK:
                    yield line
                line += _breaks(row)
            held = held[at:] + block
        if held:
            yield line


def _breaks(row: bytes) -> int:
    returns = row.count(b"\r")
    return row.count(b"\n") + (returns - row.count(b"\r\n") if returns else 0)
