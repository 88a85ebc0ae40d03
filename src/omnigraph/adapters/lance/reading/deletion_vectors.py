"""Deletion vectors: the deleted rows of a fragment.

A fragment names a small file: an Arrow array of offsets, or a Roaring bitmap for many of them.
Reading that file costs a few kilobytes; Lance would compute the same by a scan of the fragment.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from omnigraph.errors import NotFound

if TYPE_CHECKING:
    from omnigraph.ports.objects import ObjectStore

__all__ = ["deleted_offsets", "read_offsets", "read_roaring"]

_NO_OFFSETS = np.empty(0, np.uint32)
# The two cookies of the portable form of a Roaring bitmap.
_COOKIE_WITH_RUNS = 12_347
_COOKIE_WITHOUT_RUNS = 12_346
# From this many containers on, a bitmap with runs stores their offsets.
_OFFSETS_FROM = 4
# A container of more values than this is a bitmap of 65,536 bits.
_ARRAY_MAX = 4_096
_BITMAP_BYTES = 8_192


def deleted_offsets(objects: ObjectStore, path: str, fragment: Any) -> np.ndarray:
    """Return the offsets of the deleted rows of a fragment, ascending."""
    metadata = fragment.metadata
    file = metadata.deletion_file
    if file is None:
        return _NO_OFFSETS
    try:
        found = read_offsets(objects.get(f"{path}/{file.path(metadata.id)}"))
        if len(found) == metadata.num_deletions:
            return found
    except (NotFound, ValueError):
        pass
    # An unknown format: Lance reads it.
    return _missing_from(fragment, metadata.physical_rows)


def read_offsets(body: bytes) -> np.ndarray:
    """Return the offsets in a deletion file; ValueError when it is truncated or unknown."""
    try:
        return _read_arrow(body) if body.startswith(b"ARROW1") else read_roaring(body)
    except (struct.error, pa.ArrowException) as error:
        raise ValueError(str(error)) from error


def read_roaring(body: bytes) -> np.ndarray:
    """Return the values of a 32-bit Roaring bitmap in its portable form, ascending."""
    (cookie,) = struct.unpack_from("<I", body)
    if cookie & 0xFFFF == _COOKIE_WITH_RUNS:
        size = (cookie >> 16) + 1
        flags = np.frombuffer(body, np.uint8, (size + 7) // 8, 4)
        runs = np.unpackbits(flags, bitorder="little")[:size].astype(bool)
        at = 4 + len(flags)
        has_offsets = size >= _OFFSETS_FROM
    elif cookie == _COOKIE_WITHOUT_RUNS:
        (size,) = struct.unpack_from("<I", body, 4)
        runs = np.zeros(size, dtype=bool)
        at = 8
        has_offsets = True
    else:
        raise ValueError(f"not a Roaring bitmap: it begins with {cookie}")
    heads = np.frombuffer(body, "<u2", 2 * size, at).reshape(-1, 2).astype(np.int64)
    at += 4 * size * (2 if has_offsets else 1)
    found = [_NO_OFFSETS]
    for (key, count_less_one), is_run in zip(heads.tolist(), runs.tolist(), strict=True):
        values, at = _read_container(body, at, count_less_one + 1, is_run=is_run)
        found.append(values.astype(np.uint32) + np.uint32(key << 16))
    return np.concatenate(found)


def _read_container(body: bytes, at: int, count: int, *, is_run: bool) -> tuple[np.ndarray, int]:
    if is_run:
        (number,) = struct.unpack_from("<H", body, at)
        pairs = np.frombuffer(body, "<u2", 2 * number, at + 2).reshape(-1, 2).astype(np.int64)
        ranges = [np.arange(start, start + more + 1) for start, more in pairs.tolist()]
        return np.concatenate(ranges), at + 2 + 4 * number
    if count > _ARRAY_MAX:
        bits = np.unpackbits(np.frombuffer(body, np.uint8, _BITMAP_BYTES, at), bitorder="little")
        return np.flatnonzero(bits), at + _BITMAP_BYTES
    return np.frombuffer(body, "<u2", count, at), at + 2 * count


def _read_arrow(body: bytes) -> np.ndarray:
    offsets = pa.ipc.open_file(pa.py_buffer(body)).read_all().column(0)
    return np.sort(offsets.to_numpy().astype(np.uint32))


def _missing_from(fragment: Any, physical_rows: int) -> np.ndarray:
    rows = fragment.scanner(columns=[], with_row_address=True).to_table()
    live = rows.column("_rowaddr").to_numpy() & np.uint64(0xFFFFFFFF)
    gone = np.ones(physical_rows, dtype=bool)
    gone[live.astype(np.int64)] = False
    return np.flatnonzero(gone).astype(np.uint32)
