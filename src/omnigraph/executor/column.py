"""A decoded column, and a selection of its rows.

Operators compute on numpy arrays where a type has one (numbers, truths, days, instants), on the
codes of distinct values for texts, and on Arrow for the rest. Each form is made when it is first
asked for and stays with the column.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.frozen import frozen
from omnigraph.semantics.values import canonical, sort_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from omnigraph.datatypes.types import DataType

    Ints = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.bool_]

__all__ = ["Column", "Ordered", "TextCodes", "Vector", "joined_array", "order_of"]

# Offsets of Arrow's plain strings have 32 bits.
_PLAIN_TEXT_MAX = 2**31 - 2**20
# A selection of so large a share of a column is worth the codes of the whole column.
_CODES_SHARE = 4


@frozen
class TextCodes:
    """A text column as numbers: equal texts have equal codes, and codes are ordered as texts are.

    NULL has the code -1. ``texts`` are the distinct values, sorted.
    """

    codes: npt.NDArray[np.int32]
    texts: pa.Array

    @property
    def nbytes(self) -> int:
        return int(self.codes.nbytes + self.texts.nbytes)

    def find(self, text: str) -> int:
        """The code of a text; -2 when no row has it."""
        place = bisect_left(_Texts(self.texts), text)
        found = place < len(self.texts) and self.texts[place].as_py() == text
        return place if found else -2


class _Texts:
    """An Arrow array as the sequence that bisect wants."""

    __slots__ = ("_texts",)

    def __init__(self, texts: pa.Array) -> None:
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, place: int) -> str:
        return str(self._texts[place])


@frozen
class Ordered:
    """Values as numbers with the order and equality of the language; NULLs are marked apart."""

    codes: Ints
    nulls: Mask | None


class Column:
    """All values of one property, in the order of their table (or of what was fetched of it)."""

    __slots__ = ("_array", "_cells", "_codes", "_grown", "_nulls", "_numbers", "kept")

    def __init__(
        self, array: pa.Array, *, kept: bool = False, grown: Callable[[], None] | None = None
    ) -> None:
        self._array = array
        self._cells: tuple[Sequence[Any], pa.DataType] | None = None
        # Whether it outlives the query, so that its other forms are worth making.
        self.kept = kept
        self._grown = grown
        self._numbers: np.ndarray | None = None
        self._nulls: Mask | None = None
        self._codes: TextCodes | None = None

    @classmethod
    def of_cells(cls, cells: Sequence[Any], dtype: pa.DataType) -> Column:
        """A few values that may never be needed as Arrow."""
        column = cls(None)
        column._cells = (cells, dtype)
        return column

    def __len__(self) -> int:
        return len(self._array) if self._cells is None else len(self._cells[0])

    @property
    def array(self) -> pa.Array:
        """The values in Arrow."""
        if self._array is None and self._cells is not None:
            self._array = pa.array(*self._cells)
        return self._array

    def cell(self, row: int) -> Any:
        """One value in Python."""
        return self._array[row].as_py() if self._cells is None else self._cells[0][row]

    def cells(self) -> list[Any]:
        """All values in Python."""
        return self.array.to_pylist() if self._cells is None else list(self._cells[0])

    @property
    def nbytes(self) -> int:
        extra = sum(form.nbytes for form in (self._nulls, self._codes) if form is not None)
        return int(self.array.nbytes) + extra

    @property
    def is_text(self) -> bool:
        return bool(
            pa.types.is_string(self.array.type) or pa.types.is_large_string(self.array.type)
        )

    @property
    def is_number_like(self) -> bool:
        """Whether it has numbers: numbers themselves, truths, days and instants."""
        return bool(pa.types.is_primitive(self.array.type))

    @property
    def numbers(self) -> np.ndarray:
        """The values; what stands for a NULL means nothing."""
        if self._numbers is None:
            self._numbers = _numbers(self.array)
        return self._numbers

    @property
    def nulls(self) -> Mask | None:
        """Which values are NULL; None when none is."""
        if self._nulls is None and self.array.null_count:
            self._nulls = np.asarray(self.array.is_null().to_numpy(zero_copy_only=False))
            self._report()
        return self._nulls

    @property
    def has_codes(self) -> bool:
        return self._codes is not None

    @property
    def codes(self) -> TextCodes:
        """The codes of a text column."""
        if self._codes is None:
            self._codes = _text_codes(self.array)
            self._report()
        return self._codes

    def _report(self) -> None:
        if self._grown is not None:
            self._grown()


class Vector:
    """A value for each row under evaluation: a column, or some rows of it in some order."""

    __slots__ = ("column", "rows")

    def __init__(self, column: Column, rows: Ints | None = None) -> None:
        self.column = column
        self.rows = rows

    def __len__(self) -> int:
        return len(self.column) if self.rows is None else len(self.rows)

    def arrow(self) -> pa.Array:
        if self.rows is None:
            return self.column.array
        return self.column.array.take(pa.array(self.rows))

    def numbers(self) -> np.ndarray:
        numbers = self.column.numbers
        return numbers if self.rows is None else numbers[self.rows]

    def nulls(self) -> Mask | None:
        nulls = self.column.nulls
        return nulls if nulls is None or self.rows is None else nulls[self.rows]

    def cells(self) -> list[Any]:
        """The values in Python, for a few rows."""
        if self.rows is None:
            return self.column.cells()
        cell = self.column.cell
        return [cell(row) for row in self.rows.tolist()]

    def take(self, rows: Ints) -> Vector:
        return Vector(self.column, rows if self.rows is None else self.rows[rows])

    def values(self, dtype: DataType) -> list[Any]:
        """Python values in the form that the language compares."""
        return [canonical(value, dtype) for value in self.arrow().to_pylist()]

    def ordered(self) -> Ordered:
        """Numbers to sort, group and tell apart by."""
        if self.column.is_text:
            codes = self._text_codes()
            nulls = codes < 0
            return Ordered(codes, nulls if nulls.any() else None)
        if self.column.is_number_like:
            return Ordered(order_of(self.numbers()), self.nulls())
        return _order_of_objects(self.arrow().to_pylist())

    def worth_codes(self) -> bool:
        """Whether the codes of the whole column are there, or worth making."""
        column = self.column
        size = len(column) if self.rows is None else len(self.rows)
        return column.has_codes or (column.kept and size * _CODES_SHARE >= len(column))

    def _text_codes(self) -> Ints:
        if not self.worth_codes():
            return Column(self.arrow()).codes.codes.astype(np.int64)
        codes = self.column.codes.codes
        return (codes if self.rows is None else codes[self.rows]).astype(np.int64)


def joined_array(chunks: pa.ChunkedArray) -> pa.Array:
    """One array; texts beyond what its offsets can address get wider ones."""
    if pa.types.is_string(chunks.type) and chunks.nbytes > _PLAIN_TEXT_MAX:
        chunks = chunks.cast(pa.large_string())
    return chunks.chunk(0) if chunks.num_chunks == 1 else chunks.combine_chunks()


def _numbers(array: pa.Array) -> np.ndarray:
    if pa.types.is_date32(array.type):
        array = array.cast(pa.int32())
    elif pa.types.is_timestamp(array.type):
        array = array.cast(pa.int64())
    if array.null_count:
        array = array.fill_null(False if pa.types.is_boolean(array.type) else 0)
    return np.asarray(array.to_numpy(zero_copy_only=False))


def _text_codes(array: pa.Array) -> TextCodes:
    encoded = array.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    indices = encoded.indices
    if not indices.null_count:
        return TextCodes(rank[indices.to_numpy()], encoded.dictionary.take(pa.array(order)))
    places = indices.fill_null(0).to_numpy()
    codes = rank[places] if len(order) else np.zeros(len(array), np.int32)
    codes[indices.is_null().to_numpy(zero_copy_only=False)] = -1
    return TextCodes(codes, encoded.dictionary.take(pa.array(order)))


def order_of(numbers: np.ndarray) -> Ints:
    """64-bit integers in the order of the numbers: NaN last, both zeros equal."""
    match numbers.dtype.kind:
        case "f":
            bits = (numbers.astype(np.float64) + 0.0).view(np.int64)
            bits = np.where(np.isnan(numbers), np.int64(0x7FF8000000000000), bits)
            return np.asarray(bits ^ ((bits >> 63) & np.int64(0x7FFFFFFFFFFFFFFF)))
        case "u":
            return np.asarray((numbers.astype(np.uint64) ^ np.uint64(1 << 63)).view(np.int64))
        case _:
            return np.asarray(numbers.astype(np.int64))


def _order_of_objects(values: list[Any]) -> Ordered:
    """Lists, vectors and bytes have no numbers of their own: rank them as they are compared."""
    keys = [sort_key(tuple(value) if isinstance(value, list) else value) for value in values]
    ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    nulls = np.array([value is None for value in values], np.bool_)
    codes = np.array([ranks[key] for key in keys], np.int64)
    return Ordered(codes, nulls if nulls.any() else None)
