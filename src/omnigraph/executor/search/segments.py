"""A column in a form made for searching, kept part by part.

A write adds a part to a table, or thins one out, and leaves the others as they are. So what was
made of a part is kept under the part's key and serves every pin and branch that has it. Small parts
come and go; all of them together make one segment per pin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from omnigraph.datatypes.arrow import PROPERTY
from omnigraph.executor.cache import ByteCache, Sized, pin_key
from omnigraph.frozen import frozen
from omnigraph.ports.tables import ROW_ADDRESS
from omnigraph.semantics.columns.column import joined_array

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence

    import numpy.typing as npt
    import pyarrow as pa

    from omnigraph.ports.tables import Fragment, Table
    from omnigraph.runtime.budget import Meter

    Ints = npt.NDArray[np.int64]

__all__ = [
    "SearchSegment",
    "SegmentBuilder",
    "count_missing",
    "offsets_of",
    "parts_of",
    "read_offsets",
    "read_pieces",
]

# A part of fewer rows is read again for every pin.
_PART_ROWS_MIN = 4_096
# Values that are read and not kept come in pieces of about this size.
_PASSING_BYTES = 1 << 22
_OFFSETS = np.uint64(0xFFFFFFFF)

S = TypeVar("S", bound=Sized)


@frozen
class _Layout:
    """The fragments of a table, and the property that each column holds."""

    parts: tuple[Fragment, ...]
    properties: Mapping[str, bytes | None]

    @property
    def nbytes(self) -> int:
        return sum(200 + len(part.key) for part in self.parts) + 100 * len(self.properties)


def _layout(table: Table, cache: ByteCache) -> _Layout:
    """Asked once per pin."""

    def ask() -> _Layout:
        properties = {field.name: (field.metadata or {}).get(PROPERTY) for field in table.schema}
        return _Layout(table.fragments(), properties)

    return cache.get_or_make((*pin_key(table.pin), "layout"), ask)


def parts_of(table: Table, cache: ByteCache) -> tuple[Fragment, ...]:
    """The fragments of a table."""
    return _layout(table, cache).parts


@frozen
class SegmentBuilder(Generic[S]):
    """How a segment is made of the values of a column, and what such segments are called.

    ``row_bytes`` is what a row of a column takes, value and segment; None where that differs from
    row to row.
    """

    name: str
    make: Callable[[pa.Array], S]
    row_bytes: Callable[[pa.DataType], int] | None = None


@frozen
class SearchSegment(Generic[S]):
    """A segment, and the positions of its rows in the table at one pin.

    ``positions`` has one entry per row of the segment, -1 for a row that is not in the table; None
    when they run from ``start``.
    """

    segment: S
    rows: int
    start: int
    positions: Ints | None = None

    def positions_of(self, rows: Ints) -> Ints:
        """The positions of rows of the segment, without those that are not in the table."""
        if self.positions is None:
            return rows + self.start
        places = self.positions[rows]
        return places[places >= 0]

    def is_placed(self, rows: Ints) -> npt.NDArray[np.bool_] | None:
        """Which rows of the segment are in the table; None when all are."""
        return None if self.positions is None else self.positions[rows] >= 0

    def find(self, positions: Ints) -> tuple[Ints, Ints]:
        """Which of the positions lie in this piece, and the rows of the segment there."""
        if self.positions is None:
            inside = (positions >= self.start) & (positions < self.start + self.rows)
            which = np.flatnonzero(inside)
            return which, positions[which] - self.start
        rows = np.flatnonzero(self.positions >= 0)
        places = self.positions[rows]
        if not len(places):
            return rows, rows
        at = np.minimum(np.searchsorted(places, positions), len(places) - 1)
        which = np.flatnonzero(places[at] == positions)
        return which, rows[at[which]]


@frozen
class _Kept(Generic[S]):
    """A segment of one part; ``offsets`` are the rows of the part that it has, None for all."""

    segment: S
    rows: int
    offsets: Ints | None

    @property
    def nbytes(self) -> int:
        return self.segment.nbytes + (0 if self.offsets is None else self.offsets.nbytes)

    def find(self, offsets: Ints) -> Ints | None:
        """The rows of the segment at offsets of the part; None when it lacks one of them."""
        if self.offsets is None or not len(offsets):
            return offsets
        if not self.rows:
            return None
        at = np.minimum(np.searchsorted(self.offsets, offsets), self.rows - 1)
        return at if np.array_equal(self.offsets[at], offsets) else None


def read_pieces(
    table: Table,
    column: str,
    maker: SegmentBuilder[S],
    cache: ByteCache,
    meter: Meter,
    *,
    parts: Collection[int] | None = None,
) -> Iterator[SearchSegment[S]]:
    """A column in pieces that have every position of the table, or of some parts, once. A piece
    that is not kept is good until the next one is asked for."""
    reader = _Reader(table, column, maker, cache, meter)
    small, start = [], 0
    for place, part in enumerate(reader.parts):
        wanted = part.rows > 0 and (parts is None or place in parts)
        if wanted and part.written >= _PART_ROWS_MIN:
            meter.check()
            if reader.fits(place):
                yield reader.large(place, start)
            else:
                yield from reader.passing(place, start)
        elif wanted:
            small.append((place, range(start, start + part.rows)))
        start += part.rows
    if small:
        yield reader.small(small)


def count_missing(table: Table, column: str, maker: SegmentBuilder[S], cache: ByteCache) -> int:
    """How many rows would have to be read for all pieces."""
    missing, small, places = 0, 0, []
    for place, part in enumerate(parts_of(table, cache)):
        if part.rows and part.written < _PART_ROWS_MIN:
            small += part.rows
            places.append(place)
        elif part.rows and _part_key(table, column, maker, cache, part.key) not in cache:
            missing += part.rows
    return missing if _small_key(table, column, maker, places) in cache else missing + small


def _part_key(
    table: Table, column: str, maker: SegmentBuilder[S], cache: ByteCache, part: str
) -> Hashable:
    # A column that was dropped and made anew has its old name, and nothing of its old values.
    made_for = _layout(table, cache).properties[column]
    return (maker.name, table.pin.path, column, made_for, part)


def _small_key(
    table: Table, column: str, maker: SegmentBuilder[S], places: Sequence[int]
) -> Hashable:
    return (maker.name, *pin_key(table.pin), column, tuple(places))


class _Reader(Generic[S]):
    """Reads the parts of one column and keeps what is made of them."""

    def __init__(
        self, table: Table, column: str, maker: SegmentBuilder[S], cache: ByteCache, meter: Meter
    ) -> None:
        self.parts = parts_of(table, cache)
        self._table = table
        self._column = column
        self._maker = maker
        self._cache = cache
        self._meter = meter

    def fits(self, place: int) -> bool:
        """Whether a part is kept, or can be read within the memory of the query."""
        part = self.parts[place]
        return self._meter.has_room(part.rows * self._row_bytes()) or self._key(part) in self._cache

    def passing(self, place: int, start: int) -> Iterator[SearchSegment[S]]:
        """A part that is too large to be held, read through piece by piece."""
        size = max(1, _PASSING_BYTES // self._row_bytes())
        for batch in self._table.batches([self._column], fragments=[place]):
            for first in range(0, batch.num_rows, size):
                self._meter.check()
                values = batch.column(self._column).slice(first, size)
                segment = self._make(values)
                yield SearchSegment(segment, len(values), start)
                self._meter.release(values.nbytes + segment.nbytes)
                start += len(values)

    def _row_bytes(self) -> int:
        weigh = self._maker.row_bytes
        return 0 if weigh is None else weigh(self._table.schema.field(self._column).type)

    def _key(self, part: Fragment) -> Hashable:
        return _part_key(self._table, self._column, self._maker, self._cache, part.key)

    def large(self, place: int, start: int) -> SearchSegment[S]:
        """A part with a segment of its own."""
        part = self.parts[place]
        key = self._key(part)
        kept: _Kept[S] = self._cache.get_or_make(key, lambda: self._read(place))
        if part.rows == part.written and kept.offsets is None:
            return SearchSegment(kept.segment, kept.rows, start)
        offsets = read_offsets(self._table, place)
        rows = kept.find(offsets)
        if rows is None:
            # It was made where other rows had been deleted, on another branch.
            kept = self._read(place)
            self._cache.put(key, kept)
            rows = np.arange(kept.rows)
        positions = np.full(kept.rows, -1, np.int64)
        positions[rows] = np.arange(start, start + part.rows)
        return SearchSegment(kept.segment, kept.rows, start, positions)

    def small(self, runs: list[tuple[int, range]]) -> SearchSegment[S]:
        """All small parts together."""

        places = [place for place, _ in runs]

        def make() -> S:
            found = self._table.scan([self._column], fragments=places)
            return self._make(joined_array(found.column(self._column)))

        key = _small_key(self._table, self._column, self._maker, places)
        segment = self._cache.get_or_make(key, make)
        positions = np.concatenate([np.arange(run.start, run.stop) for _, run in runs])
        return SearchSegment(segment, len(positions), 0, positions)

    def _read(self, place: int) -> _Kept[S]:
        part = self.parts[place]
        found = self._table.scan([self._column], row_addresses=True, fragments=[place])
        offsets = None if part.rows == part.written else offsets_of(found)
        return _Kept(self._make(joined_array(found.column(self._column))), found.num_rows, offsets)

    def _make(self, values: pa.Array) -> S:
        self._meter.hold(values.nbytes)
        segment = self._maker.make(values)
        self._meter.hold(segment.nbytes)
        return segment


def read_offsets(table: Table, place: int) -> Ints:
    """Which of the rows that were written are left of a part, by their offsets; ascending."""
    return offsets_of(table.scan([], row_addresses=True, fragments=[place]))


def offsets_of(rows: pa.Table) -> Ints:
    """Where rows of one part that were read with their addresses stand in it."""
    addresses: npt.NDArray[np.uint64] = rows.column(ROW_ADDRESS).to_numpy()
    return (addresses & _OFFSETS).astype(np.int64)
