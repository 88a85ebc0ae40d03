"""Vectors sorted by direction, so that most of them need not be looked at.

A cell holds the vectors that are nearest to its centre, in the order of their angles to it. Angles
obey the triangle inequality: what a cell holds lies at least as far from the query as the two
angles to the centre differ. So once as many neighbours as are wanted are known, however good, only
a stretch of each cell can hold a nearer one, and most stretches are empty where vectors come in
clusters. Nothing is missed: where directions are spread evenly the stretches are long, and whoever
receives that fact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]
    Matrix = npt.NDArray[np.float32]
    SmallInts = npt.NDArray[np.int32]

__all__ = ["BYTES_PER_ROW", "VectorCells", "build_seconds", "rounding"]

# Of every row its place, of every place its row and its angle.
BYTES_PER_ROW = 16
_CELLS_MAX = 512
_SAMPLE_PER_CELL = 64
_ROUNDS = 3
_CHUNK_ROWS = 8_192
# More than all angles, so that the keys of one cell lie together.
_CELL_STEP = 4.0
# So many rows of the nearest cells give a first idea of how near the nearest are.
_FIRST_ROWS = 256
_FIRST_SHARE = 8
_FLOPS = 2e10


def _count(rows: int) -> int:
    return min(_CELLS_MAX, max(1, int(rows**0.5)))


def build_seconds(rows: int, dim: int) -> float:
    """The cost of making cells, roughly."""
    return 2.0 * rows * dim * _count(rows) / _FLOPS


@frozen
class VectorCells:
    """An order of rows: by cell, then by angle, and last those without a direction.

    ``rows`` hold the row at a place, ``places`` the place of a row; ``keys`` hold cell and angle
    of a place in one number.
    """

    centres: Matrix
    starts: Ints
    keys: Floats
    rows: SmallInts
    places: SmallInts
    # How far off an angle may be that was computed in 32 bits.
    doubt: float

    @staticmethod
    def of(
        matrix: Matrix,
        scales: npt.NDArray[np.float32],
        flawed: Ints,
        check: Callable[[], None],
    ) -> VectorCells:
        """Cells of all vectors but the flawed ones, of which ``scales`` make unit vectors.

        ``check`` may stop it.
        """
        rows = np.delete(np.arange(len(scales)), flawed)
        count = _count(len(rows))
        sample = rows[:: max(1, len(rows) // (count * _SAMPLE_PER_CELL))]
        centres = _centres(matrix[sample] * scales[sample, None], count, check)
        cell = np.empty(len(rows), np.int64)
        angle = np.empty(len(rows))
        for start in range(0, len(rows), _CHUNK_ROWS):
            check()
            some = rows[start : start + _CHUNK_ROWS]
            similar = (matrix[some] * scales[some, None]) @ centres.T
            best = similar.argmax(axis=1)
            cell[start : start + len(some)] = best
            angle[start : start + len(some)] = _angles(similar[np.arange(len(some)), best])
        keys = cell * _CELL_STEP + angle
        order = np.argsort(keys)
        starts = np.searchsorted(cell[order], np.arange(count + 1))
        ordered: SmallInts = np.concatenate([rows[order], flawed]).astype(np.int32)
        places = np.empty_like(ordered)
        places[ordered] = np.arange(len(ordered), dtype=np.int32)
        doubt = float(np.arccos(1 - rounding(matrix.shape[1])))
        return VectorCells(centres, starts, keys[order], ordered, places, doubt)

    def angles_to(self, unit: npt.NDArray[np.float32]) -> Floats:
        """The angles of a direction to the centres."""
        return _angles(self.centres @ unit)

    def around(self, angles: Floats, count: int) -> Ints:
        """The places of the nearest cells, a few times as many as are wanted."""
        near = np.argsort(angles)
        lengths = np.cumsum(self.starts[near + 1] - self.starts[near])
        last = int(np.searchsorted(lengths, max(_FIRST_ROWS, count * _FIRST_SHARE)))
        chosen = near[: last + 1]
        return _runs(self.starts[chosen], self.starts[chosen + 1])

    def within(self, angles: Floats, similarity: float, most: int) -> Ints | None:
        """The places of all that may be as similar as this, and of others; None where there are
        too many."""
        reach = _angles(np.array([similarity - rounding(self.centres.shape[1])]))[0]
        reach += 2 * self.doubt
        base = np.arange(len(angles)) * _CELL_STEP
        low = np.searchsorted(self.keys, base + np.maximum(angles - reach, 0.0))
        high = np.searchsorted(self.keys, base + np.minimum(angles + reach, np.pi), side="right")
        return None if int((high - low).sum()) > most else _runs(low, high)


def rounding(dim: int) -> float:
    """How far off the product of two unit vectors may be in 32 bits: one unit in the last place
    for every product and every sum."""
    return float(2 * (dim + 16) * np.finfo(np.float32).eps)


def _runs(starts: Ints, ends: Ints) -> Ints:
    """The numbers of several runs, one run after the other."""
    lengths = ends - starts
    stops = np.cumsum(lengths)
    return np.repeat(starts - (stops - lengths), lengths) + np.arange(int(stops[-1]))


def _angles(similar: npt.NDArray[np.floating]) -> Floats:
    return np.arccos(np.clip(similar.astype(np.float64), -1.0, 1.0))


def _centres(sample: Matrix, count: int, check: Callable[[], None]) -> Matrix:
    """Directions that the sample gathers around. Any would do; good ones leave more out."""
    centres = sample[:: max(1, len(sample) // count)][:count].copy()
    for _ in range(_ROUNDS):
        check()
        nearest = (sample @ centres.T).argmax(axis=1)
        order = np.argsort(nearest, kind="stable")
        held, first = np.unique(nearest[order], return_index=True)
        sums = np.add.reduceat(sample[order], first, axis=0)
        lengths = np.sqrt(np.square(sums).sum(axis=1))
        some = lengths > 0
        centres[held[some]] = sums[some] / lengths[some, None]
    return centres
