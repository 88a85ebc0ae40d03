"""Exact products of row counts.

A row of a factorised product stands for many rows. Counts multiply without wrapping: an array of
Python integers takes over where 64 bits may not suffice.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from omnigraph.errors import LimitExceeded

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

__all__ = ["Multiplicity", "multiplied", "product_of"]

_COUNT_MAX = 2**63 - 1

# The number of rows that one row stands for: one number for all groups, or one for each group.
Multiplicity = int | np.ndarray[Any, Any]


def product_of(factor: int, arrays: Sequence[Ints]) -> Multiplicity:
    """A number times arrays of non-negative counts of equal length, exactly."""
    if not arrays:
        return factor
    most = factor * math.prod(int(array.max(initial=0)) for array in arrays)
    exact = np.int64 if max(most, factor) <= _COUNT_MAX else object
    found = np.full(len(arrays[0]), factor, exact)
    for array in arrays:
        found = found * array.astype(exact)
    return found


def multiplied(counts: Ints, times: Multiplicity) -> Ints:
    """Counts of rows that each stand for several, as 64-bit integers."""
    largest = times if isinstance(times, int) else int(times.max(initial=0))
    if max(largest, int(counts.max(initial=0)) * largest) <= _COUNT_MAX:
        return np.asarray(counts * times, np.int64)
    products = counts.astype(object) * times
    most = max(products.tolist(), default=0)
    if most > _COUNT_MAX:
        raise LimitExceeded(
            "query.count_overflow",
            f"a count of {most} does not fit 64 bits",
            details={"count": str(most)},
            remedy="count the unrelated parts of the pattern one by one",
        )
    return products.astype(np.int64)
