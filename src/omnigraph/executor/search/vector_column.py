"""Nearest vectors.

Every distance that leaves here is exact (``distances``). A sweep in 32 bits comes first and leaves
out what is certainly farther than the nearest ones; how far off it may be is known. Vectors that
are swept again and again are sorted into ``cells``, and then most are left out without a look. So
the answer is exact as well, and needs no index. Where exactness would cost too much, beyond
``EXACT_VALUES`` numbers, a vector index chooses the rows whose distances are computed, if the table
has one: then a row may be missed.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from omnigraph.executor.cache import pin_key
from omnigraph.executor.search.cells import BYTES_PER_ROW, VectorCells, build_seconds, rounding
from omnigraph.executor.search.distances import distances, matrix_of
from omnigraph.executor.search.parallel import in_chunks
from omnigraph.executor.search.ranking import Ranked, best
from omnigraph.executor.search.segments import SegmentBuilder, count_missing, read_pieces
from omnigraph.frozen import frozen
from omnigraph.ir.expressions import ScoreFunc
from omnigraph.ports.indexes import IndexKind, IndexSpec
from omnigraph.runtime.clock import SYSTEM_CLOCK
from omnigraph.semantics.columns.column import joined_array

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt
    import pyarrow as pa

    from omnigraph.executor.cache import ByteCache
    from omnigraph.ports.tables import Table
    from omnigraph.runtime.budget import Meter

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.bool_]
    Matrix = npt.NDArray[np.float32]

__all__ = ["EXACT_VALUES", "VectorColumn", "count_indexable", "describe_vector_search"]

# Half a million vectors of 64 dimensions, or twenty thousand of 1536.
EXACT_VALUES = 1 << 25
# So few rows are not worth a sweep.
_SWEEP_ROWS_MIN = 64
# Fewer rows than this share of a column are taken instead of reading it whole.
_TAKE_SHARE = 16
# The cost of reading a number of a vector, roughly.
_SECONDS_PER_VALUE = 4e-9
# Squares of norms beyond these bounds lose their precision in 32 bits, or overflow.
_SQUARES_SAFE = (np.float32(1e-24), np.float32(1e24))
_CHUNK_VALUES = 1 << 19
# Vectors that are gathered from everywhere stay in the caches of a processor.
_TAKEN_VALUES = 1 << 17
_PROBES = 20
# Fewer numbers are swept before cells have been looked through.
_CELLS_VALUES_MIN = 1 << 21
# Cells are made when sweeps have cost this share of what making them will.
_PATIENCE = 4
# A search that cells do not reduce to this share of all rows is a sweep.
_CELLS_SHARE = 4
_INDEX_EXTRA = 16


@frozen
class _Swept:
    """Vectors, and what makes them unit vectors, both in 32 bits; in the order of their ``cells``
    once they have any.

    ``flawed`` are the places of vectors that have no direction, or one that 32 bits cannot hold
    well; ``blind`` are the rows of the latter.
    """

    matrix: Matrix
    scales: npt.NDArray[np.float32]
    flawed: Ints
    blind: Ints
    cells: VectorCells | None = None

    @staticmethod
    def of(matrix: Matrix) -> _Swept:
        low, high = _SQUARES_SAFE
        with np.errstate(all="ignore"):
            squares = np.einsum("ij,ij->i", matrix, matrix)
            flawed = np.flatnonzero(~((squares > low) & (squares < high)))
            scales = 1 / np.sqrt(squares)
        scales[flawed] = 0
        return _Swept(matrix, scales, flawed, flawed[matrix[flawed].any(axis=1)])

    def sorted(self, check: Callable[[], None]) -> _Swept:
        """The same, by cells: what a query looks at lies together."""
        cells = VectorCells.of(self.matrix, self.scales, self.flawed, check)
        order = cells.rows
        flawed = np.arange(len(order) - len(self.flawed), len(order))
        return _Swept(self.matrix[order], self.scales[order], flawed, self.blind, cells)

    def vectors(self, rows: Ints) -> Matrix:
        """The vectors of some rows."""
        return self.matrix[rows if self.cells is None else self.cells.places[rows]]

    def rows(self, places: Ints) -> Ints:
        """Which rows lie at these places."""
        return places if self.cells is None else self.cells.rows[places].astype(np.int64)

    def by_place(self, marks: Mask) -> Mask:
        """Marks of rows, in the order of the vectors."""
        return marks if self.cells is None else marks[self.cells.rows]


@dataclass(slots=True)
class _Segment:
    """The vectors of a part of a table; sorted once sweeps have cost ``spent`` seconds, and that
    is enough."""

    swept: _Swept
    spent: float = 0.0
    making: threading.Lock = field(default_factory=threading.Lock)

    @property
    def nbytes(self) -> int:
        swept = self.swept
        cells = BYTES_PER_ROW * len(swept.scales) if self._may_have_cells else 0
        return int(swept.matrix.nbytes + swept.scales.nbytes) + cells

    @property
    def _may_have_cells(self) -> bool:
        return self.swept.matrix.size >= _CELLS_VALUES_MIN

    def spend(self, seconds: float, check: Callable[[], None]) -> None:
        """Note what a sweep has cost, and make cells when sweeps have cost enough."""
        self.spent += seconds
        price = build_seconds(*self.swept.matrix.shape) / _PATIENCE
        if (
            not self._may_have_cells
            or self.spent < price
            or not self.making.acquire(blocking=False)
        ):
            return
        # Queries that arrive while they are made continue to sweep.
        try:
            if self.swept.cells is None:
                self.swept = self.swept.sorted(check)
        finally:
            self.making.release()


def _row_bytes(dtype: pa.DataType) -> int:
    """A vector as it was read and as it is swept, its scale, its place in the cells."""
    return 8 * int(dtype.list_size) + 8 + BYTES_PER_ROW


_MAKER = SegmentBuilder("vectors", lambda array: _Segment(_Swept.of(matrix_of(array))), _row_bytes)


def count_indexable(array: pa.Array) -> int:
    """How many vectors have a direction in 32 bits: an index holds no others."""
    return len(array) - len(_Swept.of(matrix_of(array)).flawed)


class VectorColumn:
    """The vectors of one column of a table at its pin."""

    def __init__(self, table: Table, column: str, cache: ByteCache, meter: Meter) -> None:
        self._table = table
        self._column = column
        self._cache = cache
        self._meter = meter
        self._dim: int = table.schema.field(column).type.list_size
        self._key = (*pin_key(table.pin), "vectors", column)

    def distances(self, query: Floats, rows: Ints | None = None) -> Floats:
        """The distances of some rows, or of all in table order; NaN where there is none."""
        self._meter.check()
        if rows is not None and self._is_few(len(rows)):
            return distances(self._taken(rows), query)
        wanted = np.arange(self._table.pin.rows) if rows is None else rows
        found = np.full(len(wanted), np.nan)
        for piece in read_pieces(self._table, self._column, _MAKER, self._cache, self._meter):
            which, at = piece.find(wanted)
            found[which] = distances(piece.segment.swept.vectors(at), query)
        return found

    def nearest(
        self, query: Floats, count: int, rows: Ints | None = None, *, exact: bool = False
    ) -> Ranked:
        """The nearest of some rows, or of all."""
        total = self._table.pin.rows if rows is None else len(rows)
        if not total or count <= 0:
            return _ranked(np.empty(0, np.int64), np.empty(0), count)
        if rows is None and not exact and total * self._dim > EXACT_VALUES:
            found = self._by_index(query, count)
            if found is not None:
                return found
        if rows is not None and self._is_few(total):
            matrix = self._taken(rows)
            near = _sweep(_Swept.of(matrix), query, count)
            return _ranked(rows[near], distances(matrix[near], query), count)
        return self._sweep_pieces(query, count, rows)

    def _sweep_pieces(self, query: Floats, count: int, rows: Ints | None) -> Ranked:
        places, found = [], []
        for piece in read_pieces(self._table, self._column, _MAKER, self._cache, self._meter):
            swept = piece.segment.swept
            if rows is not None:
                which, at = piece.find(rows)
                swept = _Swept.of(swept.vectors(at))
                near = _sweep(swept, query, count)
                places.append(rows[which][near])
            else:
                there = None if piece.positions is None else piece.positions >= 0
                near = self._near(piece.segment, query, count, there)
                places.append(piece.positions_of(near))
            found.append(distances(swept.vectors(near), query))
        return _ranked(np.concatenate(places), np.concatenate(found), count)

    def _near(self, segment: _Segment, query: Floats, count: int, there: Mask | None) -> Ints:
        """The rows of a segment, those that are still there, that may be among the nearest."""
        swept = segment.swept
        if swept.cells is not None:
            near = _look_around(swept, swept.cells, query, count, there)
            return _sweep(swept, query, count, there) if near is None else near
        started = SYSTEM_CLOCK.monotonic()
        near = _sweep(swept, query, count, there)
        segment.spend(SYSTEM_CLOCK.monotonic() - started, self._meter.check)
        return near

    def _is_few(self, count: int) -> bool:
        """Whether taking rows is cheaper than reading the column, this time and by now."""
        missing = count_missing(self._table, self._column, _MAKER, self._cache)
        price = missing * self._dim * _SECONDS_PER_VALUE
        return count * _TAKE_SHARE < missing and self._cache.spent(self._key) <= price

    def _taken(self, rows: Ints) -> Matrix:
        started = SYSTEM_CLOCK.monotonic()
        found = self._table.take(rows, [self._column]).column(self._column)
        self._cache.spend(self._key, SYSTEM_CLOCK.monotonic() - started)
        self._meter.hold(found.nbytes)
        return matrix_of(joined_array(found))

    def _by_index(self, query: Floats, count: int) -> Ranked | None:
        """The candidates of a vector index; None where there is no use of one."""
        wanted = IndexSpec(self._column, IndexKind.IVF)
        if all(index.spec != wanted for index in self._table.indexes()):
            return None
        rows = self._table.search_vector(self._column, query, count + _INDEX_EXTRA, probes=_PROBES)
        if len(rows) < min(count, self._table.pin.rows):
            return None
        rows = np.sort(rows)
        return _ranked(rows, distances(self._taken(rows), query), count)


def describe_vector_search(table: Table, column: str, *, of_all: bool) -> str:
    """How the nearest vectors of a column would be found; ``of_all``: among all of its rows."""
    dim = table.schema.field(column).type.list_size
    if not of_all:
        return "no index: every row that is left is compared"
    if table.pin.rows * dim <= EXACT_VALUES:
        return f"no index: an exact search of {table.pin.rows} vectors is as fast"
    wanted = IndexSpec(column, IndexKind.IVF)
    index = next((each for each in table.indexes() if each.spec == wanted), None)
    if index is None:
        return f"no index: there is none of vectors; all {table.pin.rows} are compared"
    return f"index of vectors, which covers {index.covered_rows} of {table.pin.rows} rows"


def _ranked(rows: Ints, found: Floats, count: int) -> Ranked:
    return best(ScoreFunc.NEAREST, rows, found, count)


def _sweep(swept: _Swept, query: Floats, count: int, there: Mask | None = None) -> Ints:
    """The rows that may be among the nearest."""
    total = len(swept.scales)
    if total <= max(count, _SWEEP_ROWS_MIN):
        return np.arange(total) if there is None else np.flatnonzero(there)
    unit = _unit(query)
    similar = np.empty(total, np.float32)

    def multiply(chunk: slice) -> None:
        # Not ``@``: its threads wait for each other wherever the machine has other work.
        with np.errstate(all="ignore"):
            np.vecdot(swept.matrix[chunk], unit, out=similar[chunk])
            similar[chunk] *= swept.scales[chunk]

    in_chunks(total, max(1, _CHUNK_VALUES // len(unit)), multiply)
    similar[swept.flawed] = -np.inf
    if there is not None:
        similar[~swept.by_place(there)] = -np.inf
    bound = np.partition(similar, total - count)[total - count]
    near = np.flatnonzero(similar >= max(bound - rounding(len(unit)), np.float32(-2)))
    return _with_blind(swept.rows(near), swept, there)


def _with_blind(near: Ints, swept: _Swept, there: Mask | None) -> Ints:
    """Where 32 bits do not decide, the exact distance does."""
    blind = swept.blind if there is None else swept.blind[there[swept.blind]]
    return np.union1d(near, blind) if len(blind) else near


def _look_around(
    swept: _Swept, cells: VectorCells, query: Floats, count: int, there: Mask | None
) -> Ints | None:
    """The same by cells; None where they would leave too little out."""
    unit = _unit(query)
    angles = cells.angles_to(unit)
    first = _still(cells.around(angles, count), swept, there)
    if len(first) < count:
        return None
    _, bound = _similar(swept, first, unit, count)
    places = cells.within(angles, bound, len(swept.scales) // _CELLS_SHARE)
    if places is None:
        return None
    places = _still(places, swept, there)
    similar, bound = _similar(swept, places, unit, count)
    near = swept.rows(places[similar >= bound - rounding(len(unit))])
    return _with_blind(near, swept, there)


def _still(places: Ints, swept: _Swept, there: Mask | None) -> Ints:
    """The places of rows that are still there."""
    return places if there is None else places[there[swept.rows(places)]]


def _similar(
    swept: _Swept, places: Ints, unit: npt.NDArray[np.float32], count: int
) -> tuple[npt.NDArray[np.float32], float]:
    """How similar the vectors at some places are, and the last of so many of the best."""
    similar = swept.scales[places]

    def multiply(chunk: slice) -> None:
        similar[chunk] *= np.vecdot(swept.matrix.take(places[chunk], axis=0), unit)

    in_chunks(len(places), max(1, _TAKEN_VALUES // len(unit)), multiply)
    return similar, float(np.partition(similar, len(places) - count)[len(places) - count])


def _unit(query: Floats) -> npt.NDArray[np.float32]:
    """A unit vector keeps the products within 32 bits, and has the same distances."""
    unit = query / np.abs(query).max()
    return np.asarray(unit / np.sqrt(np.square(unit).sum()), np.float32)
