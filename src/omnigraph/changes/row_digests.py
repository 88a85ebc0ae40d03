"""Columnar digests of rows.

The digest of a row is the sum over its properties of a mix of the property's identity and value. It
does not depend on the order or the names of columns, and a property without a value adds nothing: a
missing property and NULL give the same digest. Equal numbers have equal digests in any type,
integer or floating, wide or narrow, and both zeros are equal.

Digests are two words of 64 bits, keyed with a secret of this process: they are never stored, and
nobody can prepare two rows that collide.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["digest_rows"]

_SECRET = secrets.token_bytes(16)
_LANES = 2
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_WORD = 8
# The number of vector items that are mixed at once; more would only take memory.
_VECTOR_ITEMS_MAX = 2**20
# Below this, every integer equals a 64-bit float, so both have the same word.
_WHOLE_MAX = 2.0**53


def digest_rows(columns: Mapping[str, pa.Array], count: int) -> np.ndarray:
    """Return the digests of ``count`` rows, of shape (count, 2); columns by property identity."""
    digests = np.zeros((count, _LANES), np.uint64)
    if not count:
        return digests
    for property_id, column in columns.items():
        for lane in range(_LANES):
            digests[:, lane] += _mix_values(column, _key_of(property_id, lane))
    return digests


def _key_of(property_id: str, lane: int) -> np.uint64:
    secret = _SECRET + bytes([lane])
    named = hashlib.blake2b(property_id.encode(), digest_size=_WORD, key=secret)
    return np.uint64(int.from_bytes(named.digest(), "little"))


def _mix_values(column: pa.Array, key: np.uint64) -> np.ndarray:
    """Return one word per value; 0 for NULL."""
    if not len(column):
        return np.empty(0, np.uint64)
    kind = column.type
    if pa.types.is_fixed_size_list(kind):
        mixed = _mix_vectors(column, key)
    elif pa.types.is_list(kind):
        mixed = _mix_lists(column, key)
    elif _is_bytes(kind):
        mixed = _mix_texts(column, key)
    elif pa.types.is_floating(kind):
        mixed = _mix_floats(column, key)
    else:
        mixed = _mix(_words(column) ^ key)
    if column.null_count:
        mixed = np.where(column.is_valid().to_numpy(zero_copy_only=False), mixed, np.uint64(0))
    return mixed


def _mix(words: np.ndarray) -> np.ndarray:
    """Mix 64 bits bijectively, so that every result bit depends on every input bit."""
    with np.errstate(over="ignore"):
        words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: np.ndarray = words ^ (words >> np.uint64(31))
    return mixed


def _at_places(key: np.uint64, places: np.ndarray) -> np.ndarray:
    """Derive a key for each position within a value, so that "ab" and "ba" differ."""
    with np.errstate(over="ignore"):
        return _mix(places.astype(np.uint64) * _GOLDEN + key)


def _words(column: pa.Array) -> np.ndarray:
    """Return values of a fixed width as words; NULLs are arbitrary."""
    kind = column.type
    if pa.types.is_date(kind):
        column = column.view(pa.int32())
    elif pa.types.is_timestamp(kind):
        column = column.view(pa.int64())
    elif pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    if column.null_count:
        column = column.fill_null(0)
    numbers: np.ndarray = column.to_numpy(zero_copy_only=False)
    if numbers.dtype.kind == "u":
        return numbers.astype(np.uint64)
    return numbers.astype(np.int64).view(np.uint64)


def _mix_floats(column: pa.Array, key: np.uint64) -> np.ndarray:
    """Mix integral values like integers, others by their bits under a separate key."""
    numbers = column.fill_null(0.0).to_numpy(zero_copy_only=False).astype(np.float64)
    whole = (np.abs(numbers) < _WHOLE_MAX) & (np.floor(numbers) == numbers)
    with np.errstate(over="ignore"):
        mixed = _mix(_mix(numbers.view(np.uint64) ^ (key + _GOLDEN)) ^ key)
    mixed[whole] = _mix(numbers[whole].astype(np.int64).view(np.uint64) ^ key)
    return mixed


def _mix_texts(column: pa.Array, key: np.uint64) -> np.ndarray:
    """Mix texts and bytes, eight at a time."""
    wide = pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type)
    _, offsets_buffer, data = column.buffers()
    count = len(column)
    width = np.int64 if wide else np.int32
    offsets = np.frombuffer(offsets_buffer, width, count + 1, column.offset * width().itemsize)
    begin, end = int(offsets[0]), int(offsets[-1])
    text = np.zeros(end - begin + _WORD, np.uint8)
    if end > begin:
        text[: end - begin] = np.frombuffer(data, np.uint8, end - begin, begin)
    # An unaligned word at every byte: the last ones extend into the padding.
    unaligned = np.ndarray((len(text) - _WORD + 1,), "<u8", text, strides=(1,))
    starts = offsets.astype(np.int64) - begin
    lengths = np.diff(starts)
    groups = _Groups((lengths + _WORD - 1) // _WORD)
    at = groups.repeat(starts[:-1]) + _WORD * groups.places
    words = unaligned[at]
    left = groups.repeat(lengths) - _WORD * groups.places
    short = left < _WORD
    words[short] &= (np.uint64(1) << (np.uint64(8) * left[short].astype(np.uint64))) - np.uint64(1)
    return groups.mix(words, lengths, key)


def _mix_lists(column: pa.Array, key: np.uint64) -> np.ndarray:
    offsets = column.offsets.to_numpy().astype(np.int64)
    items = column.values.slice(offsets[0], offsets[-1] - offsets[0])
    lengths = np.diff(offsets)
    return _Groups(lengths).mix(_mix_values(items, key), lengths, key)


def _mix_vectors(column: pa.Array, key: np.uint64) -> np.ndarray:
    dim, count = column.type.list_size, len(column)
    items = column.values.slice(column.offset * dim, count * dim)
    if items.null_count:
        items = items.fill_null(0)
    numbers = items.to_numpy(zero_copy_only=False).reshape(count, dim)
    keys = _at_places(key, np.arange(dim))
    mixed = np.zeros(count, np.uint64)
    step = max(1, _VECTOR_ITEMS_MAX // max(dim, 1))
    for start in range(0, count, step):
        part = (numbers[start : start + step].astype(np.float64) + 0.0).view(np.uint64)
        mixed[start : start + step] = _mix(part ^ keys).sum(axis=1, dtype=np.uint64)
    return _mix(mixed ^ key)


class _Groups:
    """Consecutive words that belong to values."""

    def __init__(self, sizes: np.ndarray) -> None:
        self._sizes = sizes
        self._ends = np.cumsum(sizes)
        total = int(self._ends[-1]) if len(sizes) else 0
        # The index of each word within its value.
        self.places = np.arange(total) - self.repeat(self._ends - sizes)

    def repeat(self, per_value: np.ndarray) -> np.ndarray:
        """Repeat an item per value for each of its words."""
        return np.repeat(per_value, self._sizes)

    def mix(self, words: np.ndarray, lengths: np.ndarray, key: np.uint64) -> np.ndarray:
        """Combine the words and the length of each value to one word."""
        summed = np.zeros(len(words) + 1, np.uint64)
        np.cumsum(_mix(words ^ _at_places(key, self.places)), out=summed[1:])
        with np.errstate(over="ignore"):
            sums = summed[self._ends] - summed[self._ends - self._sizes]
            return _mix(sums + _mix(lengths.astype(np.uint64) ^ key))


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_large_binary(kind)
    )
