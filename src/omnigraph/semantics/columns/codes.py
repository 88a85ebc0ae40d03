"""Integer codes of values, with the order and equality of the language.

Operators sort, group and join by codes, whatever the type of the values.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.frozen import frozen
from omnigraph.semantics.values import sort_key

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.bool_]

__all__ = ["Ordered", "TextCodes", "dense", "object_codes", "order_of", "text_codes"]


@frozen
class TextCodes:
    """A dictionary-encoded text column whose codes have the order and equality of the texts.

    NULL has the code -1. ``texts`` are the distinct values, sorted.
    """

    codes: npt.NDArray[np.int32]
    texts: pa.Array

    @property
    def nbytes(self) -> int:
        return int(self.codes.nbytes + self.texts.nbytes)

    def find(self, text: str) -> int:
        """Return the code of a text; -2 if no row has it."""
        code = bisect_left(_Texts(self.texts), text)
        found = code < len(self.texts) and self.texts[code].as_py() == text
        return code if found else -2


class _Texts:
    """An Arrow array as a sequence of strings, for bisect."""

    __slots__ = ("_texts",)

    def __init__(self, texts: pa.Array) -> None:
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, index: int) -> str:
        return str(self._texts[index])


@frozen
class Ordered:
    """Codes of values and a mask of NULLs; the code of a NULL has no meaning."""

    codes: Ints
    nulls: Mask | None


def text_codes(array: pa.Array) -> TextCodes:
    """Encode a text column."""
    encoded = array.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    indices = encoded.indices
    if not indices.null_count:
        return TextCodes(rank[indices.to_numpy()], encoded.dictionary.take(pa.array(order)))
    filled = indices.fill_null(0).to_numpy()
    codes = rank[filled] if len(order) else np.zeros(len(array), np.int32)
    codes[indices.is_null().to_numpy(zero_copy_only=False)] = -1
    return TextCodes(codes, encoded.dictionary.take(pa.array(order)))


def order_of(numbers: np.ndarray) -> Ints:
    """Map numbers to 64-bit integers in the same order: NaN last, both zeros equal."""
    match numbers.dtype.kind:
        case "f":
            bits = (numbers.astype(np.float64) + 0.0).view(np.int64)
            bits = np.where(np.isnan(numbers), np.int64(0x7FF8000000000000), bits)
            return np.asarray(bits ^ ((bits >> 63) & np.int64(0x7FFFFFFFFFFFFFFF)))
        case "u":
            return np.asarray((numbers.astype(np.uint64) ^ np.uint64(1 << 63)).view(np.int64))
        case _:
            return np.asarray(numbers.astype(np.int64))


def object_codes(values: list[Any]) -> Ordered:
    """Rank lists, vectors and bytes by their sort keys."""
    keys = [sort_key(tuple(value) if isinstance(value, list) else value) for value in values]
    ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    nulls = np.array([value is None for value in values], np.bool_)
    codes = np.array([ranks[key] for key in keys], np.int64)
    return Ordered(codes, nulls if nulls.any() else None)


def dense(values: Ints) -> tuple[Ints, int]:
    """Map integers to ``0 … n - 1`` with the same order and equality; return them and ``n``."""
    if not len(values):
        return values, 1
    low, high = int(values.min()), int(values.max())
    if high - low < 4 * len(values) + 1024:
        seen = np.zeros(high - low + 1, np.bool_)
        seen[values - low] = True
        ranks = np.cumsum(seen) - 1
        return ranks[values - low], int(ranks[-1]) + 1
    known, codes = np.unique(values, return_inverse=True)
    return codes.astype(np.int64), len(known)
