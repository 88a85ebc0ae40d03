"""Line templates: a fast parser of lines that differ only in their strings, as edges mostly do.

The first line is the template: every other one must have the same number of quotes and the same
bytes between the values. The values are then slices of the block, without parsing a line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from omnigraph.frozen import frozen
from omnigraph.loading.json_decoder import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ValuePath", "read_strings"]

# The path of a value in its record: its name, after that of the object around it.
ValuePath = tuple[str, ...]

_NEWLINE, _SPACE, _QUOTE, _BACKSLASH = b'\n "\\'
_WORD_BYTES = 8


def read_strings(
    data: pa.Buffer, first: bytes, head: str | None, inside: ValuePath
) -> dict[ValuePath, pa.Array] | None:
    """Return the values of lines by path; None if a line does not match the template.

    The data is UTF-8. ``first`` is its first line, ``head`` a name whose value is the same on every
    line, and ``inside`` the path of the one object that may be empty.
    """
    template = _template_of(first, head, inside)
    chars = np.frombuffer(data, np.uint8)
    if template is None or (chars == _BACKSLASH).any():
        return None
    # JSON allows no other control character in strings, so each one must be a line end.
    ends = np.flatnonzero(chars < _SPACE)
    quotes = np.flatnonzero(chars == _QUOTE)
    if (chars[ends] != _NEWLINE).any() or len(quotes) != len(ends) * template.quotes:
        return None
    bounds = _bounds(template, quotes.reshape(len(ends), template.quotes), ends)
    if not _has_constants(data, bounds, template.constants):
        return None
    return _slices(data, bounds, template.paths)


@frozen
class _Template:
    """A line as constants with strings between them."""

    quotes: int
    paths: tuple[ValuePath, ...]
    # The index of each value among the strings of the line.
    places: tuple[int, ...]
    # The bytes before, between and after the values.
    constants: tuple[bytes, ...]


def _template_of(line: bytes, head: str | None, inside: ValuePath) -> _Template | None:
    try:
        strings = list(_strings(read_json(line.decode()), inside))
    except (ValueError, TypeError, RecursionError):
        return None
    pieces = line.split(b'"')
    # Every string of the record is enclosed by two quotes of the line.
    if len(pieces) != 2 * len(strings) + 1:
        return None
    places = [n for n, path in enumerate(strings) if path is not None and path != (head,)]
    if not places:
        return None
    cuts = [0, *(place for n in places for place in (2 * n + 1, 2 * n + 2)), len(pieces)]
    constants = [b'"'.join(pieces[cuts[at] : cuts[at + 1]]) for at in range(0, len(cuts), 2)]
    return _Template(
        len(pieces) - 1,
        tuple(path for n in places if (path := strings[n]) is not None),
        tuple(places),
        (
            constants[0] + b'"',
            *(b'"' + text + b'"' for text in constants[1:-1]),
            b'"' + constants[-1],
        ),
    )


def _strings(record: Any, inside: ValuePath, around: ValuePath = ()) -> Iterator[ValuePath | None]:
    """Yield the strings of a record in order: None for a name, the path for a value."""
    # An empty object has no string to compare; where it is invalid, that must not go unnoticed.
    if not isinstance(record, dict) or not (record or around == inside):
        raise TypeError(record)
    for name, value in record.items():
        yield None
        if isinstance(value, str):
            yield (*around, name)
        else:
            yield from _strings(value, inside, (*around, name))


def _bounds(template: _Template, quotes: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the start of each constant and value of each line, and the end of the last line."""
    columns = 2 * len(template.places) + 1
    bounds = np.empty(len(ends) * columns + 1, np.int32)
    lines = bounds[:-1].reshape(len(ends), columns)
    lines[0, 0] = 0
    lines[1:, 0] = ends[:-1] + 1
    for at, place in enumerate(template.places):
        lines[:, 2 * at + 1] = quotes[:, 2 * place] + 1
        lines[:, 2 * at + 2] = quotes[:, 2 * place + 1]
    bounds[-1] = ends[-1] + 1
    return bounds


def _has_constants(data: pa.Buffer, bounds: np.ndarray, constants: tuple[bytes, ...]) -> bool:
    """Return whether every line has the same bytes between its values."""
    columns = 2 * len(constants) - 1
    begins = bounds[:-1].reshape(-1, columns)
    lengths = np.diff(bounds).reshape(-1, columns)
    return all(
        (lengths[:, 2 * at] == len(constant)).all()
        and _all_begin(data, begins[:, 2 * at], constant)
        for at, constant in enumerate(constants)
    )


def _all_begin(data: pa.Buffer, begins: np.ndarray, constant: bytes) -> bool:
    """Return whether the constant occurs at all these positions, which have enough bytes after."""
    chars = np.frombuffer(data, np.uint8)
    begins = begins.astype(np.intp)
    if len(constant) < _WORD_BYTES:
        return all((chars[begins + at] == char).all() for at, char in enumerate(constant))
    # Compare eight bytes at a time; the last step overlaps.
    words = np.ndarray(len(chars) - _WORD_BYTES + 1, "<u8", data, strides=(1,))
    steps = [*range(0, len(constant) - _WORD_BYTES, _WORD_BYTES), len(constant) - _WORD_BYTES]
    return all(
        (words[begins + at] == int.from_bytes(constant[at : at + _WORD_BYTES], "little")).all()
        for at in steps
    )


def _slices(
    data: pa.Buffer, bounds: np.ndarray, paths: tuple[ValuePath, ...]
) -> dict[ValuePath, pa.Array]:
    """Return the values of each path.

    Constants and values are contiguous, so all of them form one column over the block itself."""
    columns = 2 * len(paths) + 1
    buffers = [None, pa.py_buffer(bounds), data]
    everything = pa.Array.from_buffers(pa.string(), len(bounds) - 1, buffers)
    return {
        path: everything.take(pa.array(np.arange(2 * at + 1, len(bounds) - 1, columns)))
        for at, path in enumerate(paths)
    }
