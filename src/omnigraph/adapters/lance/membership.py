"""Which values a column may hold, remembered per data file.

Whoever inserts a key must know that nobody has it. Asking Lance costs a plan, an index and a look
into every small file that the index does not cover yet, mostly only to hear that there is nothing.
Data files are never rewritten and their names never used again, so what one holds can be
remembered for good, whatever versions and branches it is part of. Deleted rows are remembered with
the others: a wrong "may hold" costs no more than the question that it was to save.

What this process writes is remembered as it is written. The few rows that other processes wrote
since are read at once, which costs what the question would; more only when it was asked about often
enough, and large files in the background: no write waits for them.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from omnigraph.adapters.lance.handle_metadata import FragmentInfo, file_names, fragments_of
from omnigraph.runtime.lru_cache import LruCache

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["PRESENCE", "MembershipFilter"]

_log = logging.getLogger("omnigraph.adapters")

_BYTES_MAX = 64 * 2**20
# The tail of a table consists of files of this size, of which sets are quicker to ask.
_SET_ROWS_MAX = 1_024
_SET_MEMBER_BYTES = 80
# What is read at once instead of asking Lance: no more than what it would look at itself.
_READ_TOGETHER_ROWS = 2_048
_READ_TOGETHER_FILES = 16
# Reading so many values takes about as long as two questions to Lance.
_READ_AT_ONCE_ROWS = 20_000
_ROWS_PER_QUESTION = 100_000
_ROWS_MAX = 4_000_000
_ASKED_MAX = 10_000

# A column of a data file.
_Key = tuple[str, str]
_Hashes = frozenset[int] | np.ndarray
# A fragment and its place among those of its table.
_Placed = tuple[int, FragmentInfo]


class MembershipFilter:
    """The texts in columns of data files, as hashes. Thread-safe."""

    def __init__(self, bytes_max: int = _BYTES_MAX) -> None:
        self._lock = threading.Lock()
        self._known: LruCache[_Key, _Hashes] = LruCache(max_bytes=bytes_max, size_of=_weight)
        self._asked: LruCache[_Key, int] = LruCache(_ASKED_MAX)
        self._columns: set[str] = set()
        self._reading: set[_Key] = set()

    def may_hold(self, dataset: Any, column: str, values: pa.Array) -> pa.Array:
        """The values that some row may have; of the others none has any."""
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
                # Crowded out already.
                return values
            found |= _common(wanted, hashes)
        if not found:
            return values[:0]
        return values.filter(pa.array([each in found for each in wanted.tolist()], pa.bool_()))

    def learn(self, fragments: Iterable[Any], rows: pa.Table) -> None:
        """Rows that were just written as these fragments, in this order."""
        start = 0
        for fragment in fragments:
            part = rows.slice(start, fragment.physical_rows)
            start += fragment.physical_rows
            if part.num_rows > _READ_AT_ONCE_ROWS:
                continue
            for column in self._columns.intersection(rows.column_names):
                if pa.types.is_string(part.schema.field(column).type):
                    self._keep((file_names(fragment), column), _hashes(part.column(column)))

    def _read_few(self, dataset: Any, column: str, unknown: list[_Placed]) -> bool:
        """Read all that is not known in one scan, when that is little."""
        sizes = [fragment.physical_rows for _, fragment in unknown]
        laid_over = any(fragment.laid_over for _, fragment in unknown)
        if laid_over or sum(sizes) > _READ_TOGETHER_ROWS or len(sizes) > _READ_TOGETHER_FILES:
            return False
        hashes = _read(dataset, [place for place, _ in unknown], column)
        if len(hashes) != sum(sizes):
            return False
        for (_, fragment), part in zip(unknown, np.split(hashes, np.cumsum(sizes)), strict=False):
            self._keep((fragment.name, column), part)
        return True

    def _read_due(self, dataset: Any, column: str, unknown: list[_Placed]) -> None:
        for place, fragment in unknown:
            key, rows = (fragment.name, column), fragment.physical_rows
            if not fragment.laid_over and rows <= _ROWS_MAX and self._is_due(key, rows):
                self._read_soon(key, dataset, place, rows)

    def _is_due(self, key: _Key, rows: int) -> bool:
        """A file that is asked about once is not worth reading, and a large one not soon."""
        with self._lock:
            times = self._asked.put(key, (self._asked.get(key) or 0) + 1)
            due = times > 1 + rows // _ROWS_PER_QUESTION and key not in self._reading
            if due:
                self._reading.add(key)
            return due

    def _read_soon(self, key: _Key, dataset: Any, place: int, rows: int) -> None:
        def read() -> None:
            try:
                self._keep(key, _read(dataset, [place], key[1]))
            except Exception as error:  # noqa: BLE001 - whoever asks Lance itself is told
                _log.debug("what %s holds is not remembered: %s", key[0], error)
            finally:
                with self._lock:
                    self._reading.discard(key)
                    self._asked.pop(key)

        if rows <= _READ_AT_ONCE_ROWS:
            read()
        else:
            threading.Thread(target=read, name="omnigraph-presence").start()

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
    """All rows in their order, deleted ones as well: in a version of another branch they live."""
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


PRESENCE = MembershipFilter()
