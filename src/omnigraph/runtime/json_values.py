"""Converts records to plain values for JSON."""

from __future__ import annotations

from typing import Any

__all__ = ["to_json_value"]


def to_json_value(value: Any) -> Any:
    """Convert a record like ``dataclasses.asdict``, without its deep copies of leaves.

    Leaves are immutable, and every commit converts dozens of records several times.
    """
    fields = getattr(value, "__dataclass_fields__", None)
    if fields is not None:
        return {name: to_json_value(getattr(value, name)) for name in fields}
    if isinstance(value, tuple):
        return tuple(to_json_value(item) for item in value)
    return value
