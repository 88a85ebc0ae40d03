"""The data types of the schema language, free of Arrow and of storage."""

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
    """The built-in scalars; the value is their spelling in ``.pg`` and ``.gq``."""

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
    """One built-in scalar."""

    scalar: Scalar


@frozen
class EnumType:
    """A string out of a closed set. Values are sorted and unique: their order means nothing."""

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
# No embedding model comes near it; beyond it a row no longer fits a page of Lance comfortably.
MAX_VECTOR_DIM = 65_536
FLOATS = frozenset({Scalar.F32, Scalar.F64})


def is_numeric(dtype: DataType) -> bool:
    """Whether values of the type can be compared with numbers and summed."""
    return isinstance(dtype, ScalarType) and (
        dtype.scalar in INTEGER_RANGES or dtype.scalar in FLOATS
    )


def spell_type(dtype: DataType, *, nullable: bool = False) -> str:
    """The type as it is written in the languages."""
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
