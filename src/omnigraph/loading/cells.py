"""Conversion of single values: columns that do not convert whole, and CSV cells, which are text."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.datatypes.arrow import arrow_type
from omnigraph.datatypes.types import (
    FLOATS,
    INTEGER_RANGES,
    STRING,
    EnumType,
    ListType,
    Scalar,
    ScalarType,
    VectorType,
)
from omnigraph.datatypes.values import ValueProblem, coerce_json
from omnigraph.loading.convert import UncertainConversion, holds, typed
from omnigraph.loading.json_decoder import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.datatypes.types import DataType

__all__ = ["Fault", "read_cells", "read_column", "utf8", "validate_column"]

_INTEGER = r"-?[0-9]{1,20}"
# Programs that store integers with gaps as floats write this.
_NO_FRACTION = r"\.0+"
_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_WORDS = {"true": True, "false": False}

# The position of a value in its column, and the problem.
Fault = tuple[int, ValueProblem]


def read_column(column: pa.Array, dtype: DataType) -> tuple[pa.Array, list[Fault]]:
    """Convert a column to a type; NULL for each value that does not fit, with its fault."""
    try:
        return typed(column, dtype), []
    except UncertainConversion:
        return _one_by_one(column, dtype, _json_form)


def read_cells(column: pa.Array, dtype: DataType) -> tuple[pa.Array, list[Fault]]:
    """Convert a column of text cells to a type; NULL for each that does not fit, with its fault."""
    try:
        return typed(_cells(column, dtype), dtype), []
    except (UncertainConversion, pa.ArrowInvalid):
        return _one_by_one(column, dtype, _parse_cell)


def validate_column(column: pa.Array) -> tuple[pa.Array, list[Fault]]:
    """Validate a foreign column; NULL for each broken value, with its fault.

    Arrow does not check that text is UTF-8, and a stored table with other bytes is unreadable."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid as invalid:
        return _repair(column, invalid)
    return column, []


def _repair(column: pa.Array, invalid: pa.ArrowInvalid) -> tuple[pa.Array, list[Fault]]:
    found = column.type
    if pa.types.is_dictionary(found):
        bounds = pc.min_max(column.indices).as_py()
        if bounds["min"] is not None and not 0 <= bounds["min"] <= bounds["max"] < len(
            column.dictionary
        ):
            raise pa.ArrowInvalid("a code that its dictionary does not have")
        return validate_column(column.dictionary_decode())
    if pa.types.is_string(found) or pa.types.is_large_string(found):
        return utf8(column.cast(pa.binary()))
    if pa.types.is_list(found) or pa.types.is_large_list(found):
        faults: list[Fault] = []
        for at in range(len(column)):
            faults += [
                (at, problem)
                for _, problem in validate_column(pc.list_flatten(column[at : at + 1]))[1]
            ]
        keep = pa.array(~np.isin(np.arange(len(column)), [at for at, _ in faults]))
        return pc.if_else(keep, column, pa.scalar(None, found)), faults
    raise invalid


def utf8(column: pa.Array) -> tuple[pa.Array, list[Fault]]:
    """Decode bytes as text."""
    if not pa.types.is_binary(column.type):
        return column, []
    try:
        return column.cast(pa.string()), []
    except pa.ArrowInvalid:
        return _one_by_one(column, STRING, lambda value, _: _decoded(value))


def _one_by_one(column: pa.Array, dtype: DataType, prepare: Any) -> tuple[pa.Array, list[Fault]]:
    # Membership in an enum is a rule of the schema, and is reported as one.
    wanted = STRING if isinstance(dtype, EnumType) else dtype
    values: list[Any] = []
    faults: list[Fault] = []
    for at, value in enumerate(_values(column)):
        try:
            ready = value if value is None else prepare(value, wanted)
            values.append(coerce_json(ready, wanted, nullable=True))
        except ValueProblem as problem:
            values.append(None)
            faults.append((at, problem))
    return pa.array(values, arrow_type(dtype)), faults


def _values(column: pa.Array) -> Iterator[Any]:
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        # Python has no nanoseconds.
        column = pc.floor_temporal(column, unit="microsecond").cast(
            pa.timestamp("us", tz=column.type.tz)
        )
    for scalar in column:
        try:
            yield scalar.as_py()
        except (ValueError, OverflowError):
            # Outside Python's calendar; this text fits no type.
            yield "a moment beyond the years 1 to 9999"


def _json_form(value: Any, dtype: DataType) -> Any:
    """Return a value in its JSON form, where that loses nothing."""
    match value:
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case dt.datetime() if dtype == ScalarType(Scalar.DATE):
            midnight = value.tzinfo is None and value.time() == dt.time()
            return value.date() if midnight else value
        case _:
            return value


# --- text --------------------------------------------------------------------------------------


def _cells(column: pa.Array, dtype: DataType) -> pa.Array:
    """Convert cells to a column that ``typed`` accepts."""
    match dtype:
        case ScalarType(Scalar.BOOL):
            words = pc.utf8_lower(column)
            if not holds(pc.is_in(words, value_set=pa.array([*_WORDS, None]))):
                raise UncertainConversion
            return pc.equal(words, "true")
        case ScalarType(scalar) if scalar in INTEGER_RANGES:
            if not holds(pc.match_substring_regex(column, rf"\A{_INTEGER}\z")):
                column = pc.replace_substring_regex(column, rf"{_NO_FRACTION}\z", "")
            if not holds(pc.match_substring_regex(column, rf"\A{_INTEGER}\z")):
                raise UncertainConversion
            return column.cast(arrow_type(dtype))
        case ScalarType(scalar) if scalar in FLOATS:
            if not holds(pc.match_substring_regex(column, rf"\A{_NUMBER}\z")):
                raise UncertainConversion
            return column.cast(pa.float64())
        case ListType() | VectorType():
            raise UncertainConversion
        case _:
            return column


def _parse_cell(text: str, dtype: DataType) -> Any:
    """Convert a cell to a JSON value."""
    match dtype:
        case ScalarType(Scalar.BOOL):
            return _WORDS.get(text.lower(), text)
        case ScalarType(scalar) if scalar in INTEGER_RANGES:
            whole = re.fullmatch(rf"({_INTEGER})(?:{_NO_FRACTION})?", text)
            return int(whole[1]) if whole else text
        case ScalarType(scalar) if scalar in FLOATS and re.fullmatch(_NUMBER, text):
            return float(text)
        case ListType() | VectorType():
            try:
                return read_json(text)
            except (ValueError, RecursionError):
                return text
        case _:
            return text


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        byte = value[error.start]
        raise ValueProblem("value.encoding", f"byte 0x{byte:02X} is not UTF-8") from None
