"""Composite keys of rows: several columns of small numbers as one, distinct rows, matching rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from omnigraph.semantics.columns.codes import dense

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.bool_]

__all__ = [
    "count_pairs",
    "count_unique",
    "distinct_rows",
    "is_among",
    "matching_rows",
    "packed",
    "packed_alike",
    "unique",
]

_WIDEST = 2**62
# So few pairs need not be counted before they are made.
_FEW_PAIRS = 1 << 20
# Below this share of a domain, sorting a few numbers beats marking them in an array of all.
_SORT_SHARE = 32


def packed(columns: Sequence[Ints], count: int) -> Ints:
    """One number per row, equal exactly where all columns are equal, and in their order.

    Columns hold numbers from -1 up.
    """
    key, bound = np.zeros(count, np.int64), 1
    for column in columns:
        size = int(column.max()) + 2 if count else 1
        if bound * size >= _WIDEST:
            key, bound = dense(key)
        key = key * size + (column + 1)
        bound *= size
    return key


def unique(values: np.ndarray, bound: int) -> Ints:
    """The distinct values, ascending; all lie in ``0 … bound - 1``."""
    if len(values) * _SORT_SHARE < bound:
        return _sorted_unique(values)
    seen = np.zeros(bound, np.bool_)
    seen[values] = True
    found: Ints = seen.nonzero()[0]
    return found


def count_unique(values: np.ndarray, bound: int) -> int:
    """How many distinct values there are; all lie in ``0 … bound - 1``."""
    if len(values) * _SORT_SHARE < bound:
        return len(_sorted_unique(values))
    seen = np.zeros(bound, np.bool_)
    seen[values] = True
    return int(np.count_nonzero(seen))


def _sorted_unique(values: np.ndarray) -> Ints:
    if len(values) <= 1:
        return values
    ordered = values.copy()
    ordered.sort()
    first = ordered != 0
    first[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    distinct: Ints = ordered[first]
    return distinct


def distinct_rows(columns: Sequence[Ints], count: int) -> Ints:
    """One row of each kind."""
    if not columns:
        return np.arange(min(count, 1))
    if len(columns) == 1:
        return np.unique(columns[0], return_index=True)[1]
    return np.unique(packed(columns, count), return_index=True)[1]


def is_among(rows: Sequence[Ints], others: Sequence[Ints], counts: tuple[int, int]) -> Mask:
    """Which rows have an equal among the others."""
    if not rows:
        return np.full(counts[0], counts[1] > 0)
    if len(rows) == 1:
        return np.isin(rows[0], others[0])
    mine, theirs = packed_alike(rows, others, counts)
    return np.isin(mine, theirs)


def count_pairs(left: Sequence[Ints], right: Sequence[Ints], counts: tuple[int, int]) -> int:
    """How many pairs ``matching_rows`` finds; of small sides the most that there can be."""
    most = counts[0] * counts[1]
    if not left or most <= _FEW_PAIRS:
        return most
    codes, bound = dense(np.concatenate(packed_alike(left, right, counts)))
    found = np.bincount(codes[: counts[0]], minlength=bound)
    return int(found @ np.bincount(codes[counts[0] :], minlength=bound))


def matching_rows(
    left: Sequence[Ints], right: Sequence[Ints], counts: tuple[int, int]
) -> tuple[Ints, Ints]:
    """All pairs of equal rows; without columns every pair."""
    if not left:
        pairs = np.arange(counts[0] * counts[1])
        return pairs // max(counts[1], 1), pairs % max(counts[1], 1)
    mine, theirs = packed_alike(left, right, counts)
    table = pa.table({"key": mine, "left": np.arange(counts[0])})
    other = pa.table({"key": theirs, "right": np.arange(counts[1])})
    joined = table.join(other, "key", join_type="inner")
    return joined.column("left").to_numpy(), joined.column("right").to_numpy()


def packed_alike(
    left: Sequence[Ints], right: Sequence[Ints], counts: tuple[int, int]
) -> tuple[Ints, Ints]:
    """Numbers for the rows of two sides, equal where the rows are."""
    both = [np.concatenate([one, other]) for one, other in zip(left, right, strict=True)]
    key = packed(both, sum(counts))
    return key[: counts[0]], key[counts[0] :]
