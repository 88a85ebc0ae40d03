"""Finding entities of a table by id, and the order of their ids.

Ids are kept as fixed-width bytes in sorted order, where numpy finds one, or many at once, by
bisection. The order of UTF-8 bytes is the order of code points, which is the order of the language.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import StorageFault

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

__all__ = ["IdIndex", "node_missing"]

# Beyond this an index of fixed width would mostly hold padding.
_WIDTH_MAX = 96
_NONE = np.empty(0, np.int64)


class IdIndex:
    """The positions of ids. Ids are unique, as every writer makes sure of."""

    __slots__ = ("_by_text", "_order", "_ranks", "_sorted")

    def __init__(self, ids: pa.Array) -> None:
        width = pc.max(pc.binary_length(ids)).as_py() or 1
        self._sorted: np.ndarray | None = None
        self._order: Ints | None = None
        self._by_text: dict[str, int] | None = None
        if width <= _WIDTH_MAX and not _has_zero_bytes(ids):
            packed = _packed(ids, width)
            order = _sorted_order(packed)
            self._order = order
            self._sorted = packed if order is None else packed[order]
        else:
            self._order = pc.sort_indices(ids).to_numpy().astype(np.int64)
            self._by_text = {text: place for place, text in enumerate(ids.to_pylist())}
        self._ranks = None if self._order is None else _inverse(self._order)

    @property
    def nbytes(self) -> int:
        arrays = (self._sorted, self._order, self._ranks)
        # A text and its entry in a dictionary weigh about this much.
        texts = 160 * len(self._by_text) if self._by_text else 0
        return sum(array.nbytes for array in arrays if array is not None) + texts

    def find_one(self, text: str) -> Ints:
        """The position of an id: an array of one, or of none."""
        if self._sorted is None:
            place = (self._by_text or {}).get(text)
            return _NONE if place is None else np.array([place], np.int64)
        wanted = text.encode()
        # Numpy would widen the whole index for a longer id, and take a final zero for padding.
        if len(wanted) > self._sorted.itemsize or wanted.endswith(b"\0"):
            return _NONE
        found = self._sorted.searchsorted(wanted)
        if found >= len(self._sorted) or self._sorted[found] != wanted:
            return _NONE
        return np.array([found if self._order is None else self._order[found]], np.int64)

    def find(self, texts: list[str]) -> Ints:
        """The positions of ids; -1 for one that is not there."""
        if self._sorted is None:
            known = self._by_text or {}
            return np.array([known.get(text, -1) for text in texts], np.int64)
        if not len(self._sorted) or not texts:
            return np.full(len(texts), -1, np.int64)
        raw = [text.encode() for text in texts]
        width = self._sorted.itemsize
        possible = np.array([len(text) <= width and not text.endswith(b"\0") for text in raw])
        wanted = np.array(raw, self._sorted.dtype)
        places = np.minimum(self._sorted.searchsorted(wanted), len(self._sorted) - 1)
        hit = possible & (self._sorted[places] == wanted)
        found = places if self._order is None else self._order[places]
        return np.where(hit, found, -1).astype(np.int64)

    def ranks(self, rows: Ints) -> Ints:
        """Numbers in the order of the ids."""
        return rows if self._ranks is None else self._ranks[rows]


def node_missing(path: str, ids: Sequence[str]) -> StorageFault:
    """An edge without its node: whoever comes upon one stops, since no answer would be right."""
    return StorageFault(
        "table.row_missing",
        f"table {path}: an edge ends at {ids[0]!r}, which is not found",
        details={"table": path, "ids": list(ids[:10])},
        remedy="The graph, or an index of it, is damaged; read an older commit or a copy.",
    )


def _packed(ids: pa.Array, width: int) -> np.ndarray:
    """Ids as fixed-width bytes, padded with zeros."""
    raw = ids.cast(pa.binary() if pa.types.is_string(ids.type) else pa.large_binary())
    if pc.min(pc.binary_length(raw)).as_py() != width:
        return np.array(raw.to_pylist(), f"S{width}")
    data = np.frombuffer(raw.buffers()[2], np.uint8)
    start = np.frombuffer(raw.buffers()[1], np.int32 if pa.types.is_binary(raw.type) else np.int64)[
        raw.offset
    ]
    return data[start : start + width * len(raw)].view(f"S{width}")


def _has_zero_bytes(ids: pa.Array) -> bool:
    """Whether padding could be mistaken for an id."""
    return bool(pc.any(pc.match_substring(ids, "\0")).as_py())


def _sorted_order(packed: np.ndarray) -> Ints | None:
    """The order of the ids; None when they are sorted already, as bulk loads often leave them."""
    if not len(packed) or bool((packed[1:] >= packed[:-1]).all()):
        return None
    return np.asarray(np.argsort(packed, kind="stable"), np.int64)


def _inverse(order: Ints) -> Ints:
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks
