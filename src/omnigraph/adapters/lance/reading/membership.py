"""Membership filters: the values that a text column might contain, per data file.

An insert must know that its key is new. A lookup in Lance costs a plan, an index and a scan of
every small file without index coverage, mostly without a match. Data files are never rewritten and
their names never reused, so the filter of a file is valid for all versions and branches. It
includes deleted rows: a false positive costs only the lookup that the filter would have saved.

Rows written by this process are added as they are written. A few rows of other processes are read
on first use, at the cost of a lookup; more of them after several lookups, and large files in the
background.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from omnigraph.adapters.lance.handles.metadata import FragmentInfo, file_names, fragments_of
from omnigraph.runtime.lru_cache import LruCache

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MEMBERSHIP", "MembershipFilter"]

_log = logging.getLogger("omnigraph.adapters")

_BYTES_MAX = 64 * 2**20
# Small files up to this size are kept as sets, which answer faster.
_SET_ROWS_MAX = 1_024
_SET_MEMBER_BYTES = 80
# Read directly instead of a lookup: no more than the lookup would scan.
_READ_TOGETHER_ROWS = 2_048
_READ_TOGETHER_FILES = 16
# Reading this many values costs about two lookups.
_READ_AT_ONCE_ROWS = 20_000
_ROWS_PER_LOOKUP = 100_000
_ROWS_MAX = 4_000_000
_COUNTED_MAX = 10_000

# A column of a data file.
_Key = tuple[str, str]
_Hashes = frozenset[int] | np.ndarray
# A fragment and its position in its table.
_Placed = tuple[int, FragmentInfo]


class MembershipFilter:
    """Hashes of the texts in columns of data files. Thread-safe."""

    def __init__(self, bytes_max: int = _BYTES_MAX) -> None:
        self._lock = threading.Lock()
        self._known: LruCache[_Key, _Hashes] = LruCache(max_bytes=bytes_max, size_of=_weight)
        self._lookups: LruCache[_Key, int] = LruCache(_COUNTED_MAX)
        self._columns: set[str] = set()
        self._reading: set[_Key] = set()

    def might_contain(self, dataset: Any, column: str, values: pa.Array) -> pa.Array:
        """Return the values that rows might contain; no row contains any of the others."""
        if not pa.types.is_string(values.type):
            return values
        self._columns.add(column)
        wanted = _hashes(values)
        found: set[int] = set()
        unknown = []
        for place, fragment in enumerate(fragments_of(dataset)):
            known = None if fragment.laid_over else self._known.get((fragment.name, column))
            if known is None:
                unknown.append((place, fragment))
            else:
                found |= _common(wanted, known)
        if unknown and not self._read_few(dataset, column, unknown):
            self._read_due(dataset, column, unknown)
            return values
        for _, fragment in unknown:
            hashes = self._known.get((fragment.name, column))
            if hashes is None:
                # Evicted already.
                return values
            found |= _common(wanted, hashes)
        if not found:
            return values[:0]
        return values.filter(pa.array([each in found for each in wanted.tolist()], pa.bool_()))

    def learn(self, fragments: Iterable[Any], rows: pa.Table) -> None:
        """Add rows that were just written as these fragments, in this order."""
        start = 0
        for fragment in fragments:
            written = rows.slice(start, fragment.physical_rows)
            start += fragment.physical_rows
            if written.num_rows > _READ_AT_ONCE_ROWS:
                continue
            for column in self._columns.intersection(rows.column_names):
                if pa.types.is_string(written.schema.field(column).type):
                    self._keep((file_names(fragment), column), _hashes(written.column(column)))

    def _read_few(self, dataset: Any, column: str, unknown: list[_Placed]) -> bool:
        """Read all unknown files in one scan, when they are small."""
        sizes = [fragment.physical_rows for _, fragment in unknown]
        laid_over = any(fragment.laid_over for _, fragment in unknown)
        if laid_over or sum(sizes) > _READ_TOGETHER_ROWS or len(sizes) > _READ_TOGETHER_FILES:
            return False
        hashes = _read(dataset, [place for place, _ in unknown], column)
        if len(hashes) != sum(sizes):
            return False
        for (_, fragment), found in zip(unknown, np.split(hashes, np.cumsum(sizes)), strict=False):
            self._keep((fragment.name, column), found)
        return True

    def _read_due(self, dataset: Any, column: str, unknown: list[_Placed]) -> None:
        for place, fragment in unknown:
            key, rows = (fragment.name, column), fragment.physical_rows
            if not fragment.laid_over and rows <= _ROWS_MAX and self._is_due(key, rows):
                self._read_soon(key, dataset, place, rows)

    def _is_due(self, key: _Key, rows: int) -> bool:
        """Count a lookup; a file becomes due after a number of lookups that grows with its size."""
        with self._lock:
            times = self._lookups.put(key, (self._lookups.get(key) or 0) + 1)
            due = times > 1 + rows // _ROWS_PER_LOOKUP and key not in self._reading
            if due:
                self._reading.add(key)
            return due

    def _read_soon(self, key: _Key, dataset: Any, place: int, rows: int) -> None:
        def read() -> None:
            try:
                self._keep(key, _read(dataset, [place], key[1]))
            except Exception as error:  # noqa: BLE001 - a lookup in Lance reports it
                _log.debug("no membership filter for %s: %s", key[0], error)
            finally:
                with self._lock:
                    self._reading.discard(key)
                    self._lookups.pop(key)

        if rows <= _READ_AT_ONCE_ROWS:
            read()
        else:
            threading.Thread(target=read, name="omnigraph-membership").start()

    def _keep(self, key: _Key, hashes: np.ndarray) -> None:
        few = len(hashes) <= _SET_ROWS_MAX
        kept: _Hashes = frozenset(hashes.tolist()) if few else np.sort(hashes)
        self._known.put(key, kept)


def _common(wanted: np.ndarray, hashes: _Hashes) -> frozenset[int]:
    if isinstance(hashes, frozenset):
        return hashes.intersection(wanted.tolist())
    at = np.minimum(np.searchsorted(hashes, wanted), len(hashes) - 1)
    return frozenset(wanted[hashes[at] == wanted].tolist())


def _read(dataset: Any, places: list[int], column: str) -> np.ndarray:
    """Read all rows in order, deleted ones included: another branch may have them."""
    fragments = dataset.get_fragments()
    scanner = dataset.scanner(
        columns=[column],
        fragments=[fragments[place] for place in places],
        include_deleted_rows=True,
        with_row_id=True,
        scan_in_order=True,
    )
    return np.concatenate([_hashes(batch.column(column)) for batch in scanner.to_batches()])


def _hashes(values: pa.Array | pa.ChunkedArray) -> np.ndarray:
    return np.fromiter(map(hash, values.to_pylist()), np.int64, len(values))


def _weight(hashes: _Hashes) -> int:
    if isinstance(hashes, frozenset):
        return _SET_MEMBER_BYTES * len(hashes)
    return hashes.nbytes


MEMBERSHIP = MembershipFilter()
