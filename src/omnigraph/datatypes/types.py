"""Define the data types of the schema language, independent of Arrow and storage."""

from __future__ import annotations

from enum import StrEnum

from omnigraph.frozen import frozen

__all__ = [
    "BOOL",
    "DATE",
    "DATETIME",
    "F64",
    "FLOATS",
    "I64",
    "INTEGER_RANGES",
    "MAX_ENUM_VALUES",
    "MAX_VECTOR_DIM",
    "STRING",
    "DataType",
    "EnumType",
    "ListType",
    "Scalar",
    "ScalarType",
    "VectorType",
    "is_numeric",
    "spell_type",
]


class Scalar(StrEnum):
    """Built-in scalars; the value is the spelling in ``.pg`` and ``.gq``."""

    STRING = "String"
    BOOL = "Bool"
    I32 = "I32"
    I64 = "I64"
    U32 = "U32"
    U64 = "U64"
    F32 = "F32"
    F64 = "F64"
    DATE = "Date"
    DATETIME = "DateTime"
    BLOB = "Blob"


@frozen
class ScalarType:
    """A built-in scalar."""

    scalar: Scalar


@frozen
class EnumType:
    """A string from a closed set; values are sorted and unique, without a meaning of order."""

    values: tuple[str, ...]


@frozen
class ListType:
    """A list of scalars."""

    item: Scalar


@frozen
class VectorType:
    """A fixed-size vector of 32-bit floats."""

    dim: int


DataType = ScalarType | EnumType | ListType | VectorType

STRING = ScalarType(Scalar.STRING)
BOOL = ScalarType(Scalar.BOOL)
I64 = ScalarType(Scalar.I64)
F64 = ScalarType(Scalar.F64)
DATE = ScalarType(Scalar.DATE)
DATETIME = ScalarType(Scalar.DATETIME)

INTEGER_RANGES: dict[Scalar, tuple[int, int]] = {
    Scalar.I32: (-(2**31), 2**31 - 1),
    Scalar.I64: (-(2**63), 2**63 - 1),
    Scalar.U32: (0, 2**32 - 1),
    Scalar.U64: (0, 2**64 - 1),
}
MAX_ENUM_VALUES = 10_000
# Far above any embedding model; larger rows exceed a page of Lance.
MAX_VECTOR_DIM = 65_536
FLOATS = frozenset({Scalar.F32, Scalar.F64})


def is_numeric(dtype: DataType) -> bool:
    """Return whether values of the type are numbers."""
    return isinstance(dtype, ScalarType) and (
        dtype.scalar in INTEGER_RANGES or dtype.scalar in FLOATS
    )


def spell_type(dtype: DataType, *, nullable: bool = False) -> str:
    """Format a type as in ``.pg`` and ``.gq``."""
    mark = "?" if nullable else ""
    match dtype:
        case ScalarType(scalar):
            return f"{scalar.value}{mark}"
        case EnumType(values):
            return f"enum({', '.join(values)}){mark}"
        case ListType(item):
            return f"[{item.value}]{mark}"
        case VectorType(dim):
            return f"Vector({dim}){mark}"
