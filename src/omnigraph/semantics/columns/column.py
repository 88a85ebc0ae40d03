"""A decoded column, and a selection of its rows.

Operators compute on numpy arrays of numbers, booleans, dates and datetimes, on dictionary codes of
texts, and on Arrow for the other types. A column computes each representation on first use and
keeps it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from omnigraph.semantics.columns.codes import Ordered, TextCodes, object_codes, order_of, text_codes
from omnigraph.semantics.values import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from omnigraph.datatypes.types import DataType

    Ints = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.bool_]

__all__ = ["Column", "Vector", "joined_array"]

# Arrow's string type has 32-bit offsets.
_PLAIN_TEXT_MAX = 2**31 - 2**20
# A selection of at least one row in so many justifies encoding the whole column.
_CODES_SHARE = 4


class Column:
    """All values of one property, in the order of the table or of the fetched rows."""

    __slots__ = ("_array", "_cells", "_codes", "_nulls", "_numbers", "_on_growth", "kept")

    def __init__(
        self, array: pa.Array, *, kept: bool = False, on_growth: Callable[[], None] | None = None
    ) -> None:
        self._array = array
        self._cells: tuple[Sequence[Any], pa.DataType] | None = None
        # Whether the column outlives the query, so that other representations pay off.
        self.kept = kept
        self._on_growth = on_growth
        self._numbers: np.ndarray | None = None
        self._nulls: Mask | None = None
        self._codes: TextCodes | None = None

    @classmethod
    def of_cells(cls, cells: Sequence[Any], dtype: pa.DataType) -> Column:
        """Create a column of a few Python values; the Arrow array is built on demand."""
        column = cls(None)
        column._cells = (cells, dtype)
        return column

    def __len__(self) -> int:
        return len(self._array) if self._cells is None else len(self._cells[0])

    @property
    def array(self) -> pa.Array:
        """The values as an Arrow array."""
        if self._array is None and self._cells is not None:
            self._array = pa.array(*self._cells)
        return self._array

    def cell(self, row: int) -> Any:
        """Return one value as a Python object."""
        return self._array[row].as_py() if self._cells is None else self._cells[0][row]

    def cells(self) -> list[Any]:
        """Return all values as Python objects."""
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
        """Whether ``numbers`` is defined: for numbers, booleans, dates and datetimes."""
        return bool(pa.types.is_primitive(self.array.type))

    @property
    def numbers(self) -> np.ndarray:
        """The values as a numpy array; NULLs hold an arbitrary number."""
        if self._numbers is None:
            self._numbers = _numbers(self.array)
        return self._numbers

    @property
    def nulls(self) -> Mask | None:
        """The mask of NULLs; None without NULLs."""
        if self._nulls is None and self.array.null_count:
            self._nulls = np.asarray(self.array.is_null().to_numpy(zero_copy_only=False))
            self._notify()
        return self._nulls

    @property
    def has_codes(self) -> bool:
        return self._codes is not None

    @property
    def codes(self) -> TextCodes:
        """The dictionary codes of a text column."""
        if self._codes is None:
            self._codes = text_codes(self.array)
            self._notify()
        return self._codes

    def _notify(self) -> None:
        if self._on_growth is not None:
            self._on_growth()


class Vector:
    """A value for each evaluated row: a column, or rows of it in some order."""

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
        """Return the values as Python objects; for few rows."""
        if self.rows is None:
            return self.column.cells()
        cell = self.column.cell
        return [cell(row) for row in self.rows.tolist()]

    def take(self, rows: Ints) -> Vector:
        return Vector(self.column, rows if self.rows is None else self.rows[rows])

    def values(self, dtype: DataType) -> list[Any]:
        """Return the values in their canonical form."""
        return [canonical(value, dtype) for value in self.arrow().to_pylist()]

    def ordered(self) -> Ordered:
        """Return codes to sort, group and join by."""
        if self.column.is_text:
            codes = self._text_codes()
            nulls = codes < 0
            return Ordered(codes, nulls if nulls.any() else None)
        if self.column.is_number_like:
            return Ordered(order_of(self.numbers()), self.nulls())
        return object_codes(self.arrow().to_pylist())

    def worth_codes(self) -> bool:
        """Whether the whole column has dictionary codes, or should get them."""
        column = self.column
        size = len(column) if self.rows is None else len(self.rows)
        return column.has_codes or (column.kept and size * _CODES_SHARE >= len(column))

    def _text_codes(self) -> Ints:
        if not self.worth_codes():
            return Column(self.arrow()).codes.codes.astype(np.int64)
        codes = self.column.codes.codes
        return (codes if self.rows is None else codes[self.rows]).astype(np.int64)


def joined_array(chunks: pa.ChunkedArray) -> pa.Array:
    """Concatenate chunks; texts that exceed 32-bit offsets become large strings."""
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
