"""Total orders: sort keys as integers, and the first rows of an order without sorting the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from omnigraph.semantics.columns.codes import Ordered

    Ints = npt.NDArray[np.int64]

__all__ = ["order_by", "sort_keys"]


def sort_keys(values: Ordered, *, descending: bool) -> list[Ints]:
    """Arrays to sort by, the first one first. NULLs come first ascending, last descending."""
    codes = ~values.codes if descending else values.codes
    if values.nulls is None:
        return [codes]
    marks = values.nulls if descending else ~values.nulls
    # All NULLs have one code, so that they are equal.
    return [marks.astype(np.int64), np.where(values.nulls, 0, codes)]


def order_by(keys: Sequence[Ints], count: int, top: int | None) -> Ints:
    """The places of the rows in order, or only of the first ones. Equal rows keep their order."""
    if top is not None and top < count:
        return _first(keys, count, top)
    if not keys or count <= 1:
        return np.arange(count)
    if len(keys) == 1:
        return np.argsort(keys[0], kind="stable")
    return np.lexsort(tuple(reversed(keys)))


def _first(keys: Sequence[Ints], count: int, top: int) -> Ints:
    """Rows beyond the last place of the first key cannot be among the first."""
    if not keys or top == 0:
        return np.arange(min(count, top))
    leading = keys[0]
    threshold = np.partition(leading, top - 1)[top - 1]
    chosen = np.flatnonzero(leading <= threshold)
    order = order_by([key[chosen] for key in keys], len(chosen), None)
    return chosen[order[:top]]
