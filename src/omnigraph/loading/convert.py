"""Conversion of whole columns to the types of the schema.

A column that does not convert with certainty raises ``UncertainConversion``; the caller then
converts value by value with ``datatypes.values``, which defines the semantics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.datatypes.arrow import arrow_type
from omnigraph.datatypes.types import (
    EnumType,
    ListType,
    Scalar,
    ScalarType,
    VectorType,
)
from omnigraph.datatypes.values import ValueProblem, coerce_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.datatypes.types import DataType

__all__ = ["UncertainConversion", "holds", "plain", "typed"]


class UncertainConversion(Exception):
    """The vectorised conversion is uncertain; the conversion by value decides."""


_EXACT_FLOAT_MAX = 2**53
_INTEGER_TEXT = r"\A-?[0-9]{1,20}\z"
_ZONE = r"(?:Z|[+-][0-9]{2}:[0-9]{2})"
_DATETIME_TEXT = (
    r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?%s\z"
)
_ZONED = _DATETIME_TEXT % _ZONE
_UNZONED = _DATETIME_TEXT % ""
_DATE_LENGTH = len("2026-11-01")
# The first and the last moment of Python's calendar.
_DAYS = (-719_162, 2_932_896)
_MICROS = (_DAYS[0] * 86_400_000_000, (_DAYS[1] + 1) * 86_400_000_000 - 1)


def typed(column: pa.Array, dtype: DataType) -> pa.Array:
    """Convert a column to a type; or raise ``UncertainConversion`` if in doubt."""
    column = plain(column)
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), arrow_type(dtype))
    try:
        match dtype:
            case ScalarType(scalar):
                return _SCALARS[scalar](column)
            case EnumType():
                return _strings(column)
            case ListType(item):
                return _lists(column, item)
            case VectorType(dim):
                return _vectors(column, dim)
    except pa.ArrowException as error:
        raise UncertainConversion from error


def plain(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return one contiguous array, without dictionaries and views."""
    if isinstance(column, pa.ChunkedArray):
        one = column.num_chunks == 1
        column = column.chunk(0) if one else column.combine_chunks()
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        # ``take`` does not support views.
        known = plain(column.dictionary)
        column = pa.DictionaryArray.from_arrays(column.indices, known).dictionary_decode()
    if pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
        return column.cast(pa.string())
    return column


# --- scalars -----------------------------------------------------------------------------------


def _strings(column: pa.Array) -> pa.Array:
    if not pa.types.is_string(column.type):
        raise UncertainConversion
    return column


def _bools(column: pa.Array) -> pa.Array:
    if not pa.types.is_boolean(column.type):
        raise UncertainConversion
    return column


def _integers(target: pa.DataType, *, from_text: bool) -> Callable[[pa.Array], pa.Array]:
    def convert(column: pa.Array) -> pa.Array:
        found = column.type
        if found == target or pa.types.is_integer(found) or pa.types.is_decimal(found):
            return column.cast(target)
        if pa.types.is_floating(found):
            _require(pc.less_equal(pc.abs(column), _EXACT_FLOAT_MAX))
            return column.cast(target)
        if from_text and pa.types.is_string(found):
            _require(pc.match_substring_regex(column, _INTEGER_TEXT))
            return column.cast(target)
        raise UncertainConversion

    return convert


def _f64(column: pa.Array) -> pa.Array:
    found = column.type
    if not (
        pa.types.is_floating(found) or pa.types.is_integer(found) or pa.types.is_decimal(found)
    ):
        raise UncertainConversion
    # Integers beyond 2^53 are rounded, as everywhere.
    return column.cast(pa.float64(), safe=False)


def _f32(column: pa.Array) -> pa.Array:
    if column.type == pa.float32():
        return column
    # Convert through 64 bits, so that rounding equals that of a single value.
    wide = _f64(column)
    narrow = wide.cast(pa.float32(), safe=False)
    _require(pc.equal(pc.is_finite(wide), pc.is_finite(narrow)))
    return narrow


def _dates(column: pa.Array) -> pa.Array:
    found = column.type
    if pa.types.is_string(found):
        _require(pc.equal(pc.binary_length(column), _DATE_LENGTH))
    elif pa.types.is_timestamp(found) and found.tz is None:
        # The form of a date in pandas.
        _require(pc.equal(pc.floor_temporal(column, unit="day"), column))
    elif not pa.types.is_date(found):
        raise UncertainConversion
    days = column.cast(pa.date32())
    _require_between(days.view(pa.int32()), _DAYS)
    return days


def _datetimes(column: pa.Array) -> pa.Array:
    moments = _datetimes_of_text(column) if pa.types.is_string(column.type) else column
    if not pa.types.is_timestamp(moments.type):
        raise UncertainConversion
    if moments.type.unit == "ns":
        # Truncate below microseconds, also before 1970.
        moments = pc.floor_temporal(moments, unit="microsecond")
    zone = moments.type.tz
    moments = moments.cast(pa.timestamp("us", tz=zone))
    _require_between(moments.view(pa.int64()), _MICROS)
    # A naive time is UTC, and an aware one is stored as UTC already.
    return moments.view(pa.timestamp("us", tz="UTC"))


def _datetimes_of_text(column: pa.Array) -> pa.Array:
    if holds(pc.match_substring_regex(column, _ZONED)):
        return column.cast(pa.timestamp("us", tz="UTC"))
    _require(pc.match_substring_regex(column, _UNZONED))
    return column.cast(pa.timestamp("us"))


def _blobs(column: pa.Array) -> pa.Array:
    found = column.type
    if pa.types.is_string(found):
        dtype = ScalarType(Scalar.BLOB)
        try:
            values = [coerce_json(text, dtype, nullable=True) for text in column.to_pylist()]
        except ValueProblem as problem:
            raise UncertainConversion from problem
        return pa.array(values, pa.large_binary())
    if pa.types.is_binary(found) or pa.types.is_large_binary(found):
        return column.cast(pa.large_binary())
    raise UncertainConversion


_SCALARS: dict[Scalar, Callable[[pa.Array], pa.Array]] = {
    Scalar.STRING: _strings,
    Scalar.BOOL: _bools,
    Scalar.I32: _integers(pa.int32(), from_text=False),
    Scalar.I64: _integers(pa.int64(), from_text=True),
    Scalar.U32: _integers(pa.uint32(), from_text=False),
    Scalar.U64: _integers(pa.uint64(), from_text=True),
    Scalar.F32: _f32,
    Scalar.F64: _f64,
    Scalar.DATE: _dates,
    Scalar.DATETIME: _datetimes,
    Scalar.BLOB: _blobs,
}


# --- lists and vectors -------------------------------------------------------------------------


def _lists(column: pa.Array, item: Scalar) -> pa.Array:
    column = _as_lists(column)
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    items = typed(pc.list_flatten(column), ScalarType(item))
    offsets = np.zeros(len(column) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    mask = pc.is_null(column) if column.null_count else None
    return pa.ListArray.from_arrays(pa.array(offsets), items, mask=mask)


def _vectors(column: pa.Array, dim: int) -> pa.Array:
    column = _as_lists(column)
    _require(pc.equal(pc.list_value_length(column), dim))
    items = _f32(plain(pc.list_flatten(column)))
    if items.null_count:
        raise UncertainConversion
    if not column.null_count:
        return pa.FixedSizeListArray.from_arrays(items, dim)
    # A null vector still occupies its positions among the items.
    present = column.is_valid().to_numpy(zero_copy_only=False)
    spread = np.zeros((len(column), dim), np.float32)
    spread[present] = items.to_numpy().reshape(-1, dim)
    return pa.FixedSizeListArray.from_arrays(pa.array(spread.ravel()), dim, mask=pa.array(~present))


def _as_lists(column: pa.Array) -> pa.Array:
    found = column.type
    if pa.types.is_list(found):
        return column
    if pa.types.is_large_list(found) or pa.types.is_fixed_size_list(found):
        return column.cast(pa.list_(found.value_type))
    raise UncertainConversion


# --- certainty ---------------------------------------------------------------------------------


def holds(mask: pa.Array) -> bool:
    """Return whether a condition holds for every value, ignoring NULL."""
    return bool(pc.all(mask, skip_nulls=True, min_count=0).as_py())


def _require(mask: pa.Array) -> None:
    if not holds(mask):
        raise UncertainConversion


def _require_between(numbers: pa.Array, bounds: tuple[int, int]) -> None:
    found = pc.min_max(numbers).as_py()
    if found["min"] is not None and not bounds[0] <= found["min"] <= found["max"] <= bounds[1]:
        raise UncertainConversion
