"""The JSON form of values, safe for every JSON reader.

An integer that a double cannot hold exactly becomes a string, dates and datetimes become ISO 8601
(UTC, ``Z``), bytes ``base64:…``, and NaN and the infinities their names.
"""

from __future__ import annotations

import base64
import datetime as dt
import math
from typing import Any

from omnigraph.datatypes.values import BLOB_PREFIX, spell_datetime

__all__ = [
    "to_wire",
]


_SAFE_INTEGER_MAX = 2**53 - 1


def to_wire(value: Any) -> Any:
    """A value of a result in its JSON form."""
    match value:
        case bool() | str() | None:
            return value
        case int() | float():
            return _wire_number(value)
        case dt.datetime():
            return spell_datetime(value)
        case dt.date():
            return value.isoformat()
        case bytes():
            return BLOB_PREFIX + base64.b64encode(value).decode("ascii")
        case dict():
            return {name: to_wire(item) for name, item in value.items()}
        case _:
            return [to_wire(item) for item in value]


def _wire_number(value: float) -> float | str:
    if isinstance(value, int):
        return value if abs(value) <= _SAFE_INTEGER_MAX else str(value)
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
