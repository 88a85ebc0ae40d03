"""Cosine distances, rounded once.

A sum of products depends on the order of its terms, so the same two vectors could have another
distance in another batch, and equal distances could differ. Here every sum carries what rounding
lost, and comes out as if it had been computed exactly: the distance of two vectors is one number,
whoever asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    Floats = npt.NDArray[np.float64]
    Matrix = npt.NDArray[np.float32]

__all__ = ["distances", "exact_sum", "matrix_of"]

# Numbers that are summed at once: as many as the caches of a processor hold.
_BLOCK_VALUES = 1 << 17
_SPLITTER = float((1 << 27) + 1)


def matrix_of(array: pa.Array) -> Matrix:
    """The values of a vector column; NULL becomes zeros, which have no direction either."""
    dim = array.type.list_size
    values = array.values.slice(array.offset * dim, len(array) * dim)
    matrix = np.asarray(values.to_numpy(zero_copy_only=False), np.float32).reshape(-1, dim)
    if array.null_count:
        present = array.is_valid().to_numpy(zero_copy_only=False)
        matrix = np.where(present[:, None], matrix, np.float32(0))
    return matrix


def distances(matrix: Matrix, query: Floats) -> Floats:
    """1 - cos of the angle between each row and the query; NaN where a row has no direction."""
    found = np.full(len(matrix), np.nan)
    rows = max(1, _BLOCK_VALUES // matrix.shape[1])
    for start in range(0, len(matrix), rows):
        block = matrix[start : start + rows].astype(np.float64)
        found[start : start + rows] = _distances(block, query)
    return found


def _distances(block: Floats, query: Floats) -> Floats:
    """All sums at once: of few rows, the number of steps is what costs."""
    count = len(block)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        # The square of a 32-bit number is exact in 64 bits.
        squares = np.square(np.concatenate([block, query[None, :]]))
        high, low = _sum(np.concatenate([squares, block * query]))
        norms = _roots(high[: count + 1], low[: count + 1])
        scale = norms[:count] * norms[count]
        cosine = (high + low)[count + 1 :] / scale
        has = np.isfinite(scale) & (scale > 0)
        return np.where(has, 1 - np.clip(cosine, -1.0, 1.0), np.nan)


def exact_sum(terms: Floats) -> Floats:
    """The sum of each row, rounded once."""
    high, low = _sum(terms)
    return high + low


def _roots(high: Floats, low: Floats) -> Floats:
    """The square roots of numbers in two parts."""
    root = np.sqrt(high)
    # The exact error of the squared root corrects the root.
    split = root * _SPLITTER
    upper = split - (split - root)
    lower = root - upper
    square = root * root
    lost = ((upper * upper - square) + 2 * upper * lower) + lower * lower
    corrected = root + ((high - square) - lost + low) / (2 * root)
    return np.where(root > 0, corrected, root)


def _sum(terms: Floats) -> tuple[Floats, Floats]:
    """The sum of each row as two numbers: rounded, and what rounding lost."""
    low = np.zeros(len(terms))
    with np.errstate(invalid="ignore", over="ignore"):
        while terms.shape[1] > 1:
            half = terms.shape[1] // 2
            left, right = terms[:, :half], terms[:, half : 2 * half]
            total = left + right
            other = total - left
            low += ((left - (total - other)) + (right - other)).sum(axis=1)
            odd = terms[:, 2 * half :]
            terms = np.concatenate([total, odd], axis=1) if odd.shape[1] else total
        high = terms.sum(axis=1)
        total = high + low
        return total, low - (total - high)
