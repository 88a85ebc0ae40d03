"""Records as plain values, for JSON."""

from __future__ import annotations

from typing import Any

__all__ = ["to_json_value"]


def to_json_value(value: Any) -> Any:
    """Like ``dataclasses.asdict``, which copies every leaf deeply: ours are immutable, and every
    commit writes a few dozen of them several times."""
    fields = getattr(value, "__dataclass_fields__", None)
    if fields is not None:
        return {name: to_json_value(getattr(value, name)) for name in fields}
    if isinstance(value, tuple):
        return tuple(to_json_value(item) for item in value)
    return value
