"""Refuse results that their type, or the memory of a value, cannot hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.datatypes.types import INTEGER_RANGES, ScalarType, spell_type
from omnigraph.errors import LimitExceeded

if TYPE_CHECKING:
    from omnigraph.datatypes.types import DataType

__all__ = ["ITEMS_MAX", "TEXT_MAX", "date_out_of_range", "fit_integer", "fit_length"]

# The longest text and list that a function makes.
TEXT_MAX = 2**24
ITEMS_MAX = 2**20


def fit_integer(value: int, dtype: DataType) -> int:
    """Return an integer that its type holds; refuse any other."""
    low, high = INTEGER_RANGES[dtype.scalar] if isinstance(dtype, ScalarType) else (0, 0)
    if low <= value <= high:
        return value
    raise LimitExceeded(
        "query.integer_overflow",
        f"the result {value if abs(value) < 10**40 else 'of an operation'} does not fit "
        f"{spell_type(dtype)}",
        remedy="compute with floats: `cast(… as F64)`",
    )


def fit_length(length: int, most: int, what: str) -> None:
    """Refuse a text or a list that is too long, before it is made."""
    if length > most:
        raise LimitExceeded(
            "query.value_too_large",
            f"a function would make a {what} of {length:,}; at most {most:,} are allowed",
            details={"resource_limit": {"name": what, "limit": most, "actual": length}},
            remedy="make shorter values",
        )


def date_out_of_range() -> LimitExceeded:
    """A date before the year 1 or after 9999."""
    return LimitExceeded(
        "query.date_out_of_range",
        "the date lies outside of the years 1 to 9999",
        remedy="move it by less",
    )
