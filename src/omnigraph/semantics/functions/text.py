"""Functions of texts. Characters are code points, counted from 0; a negative place counts from the
end."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from omnigraph.semantics.functions.limits import ITEMS_MAX, TEXT_MAX, fit_length

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.datatypes.types import DataType

__all__ = [
    "concatenate",
    "hashed",
    "join",
    "left",
    "length",
    "lower",
    "replace",
    "right",
    "split",
    "substring",
    "trim",
    "trim_end",
    "trim_start",
    "upper",
]

_CHARACTERS = "characters"


def lower(_dtype: DataType, text: str) -> str:
    return text.lower()


def upper(_dtype: DataType, text: str) -> str:
    return text.upper()


def trim(_dtype: DataType, text: str) -> str:
    return text.strip()


def trim_start(_dtype: DataType, text: str) -> str:
    return text.lstrip()


def trim_end(_dtype: DataType, text: str) -> str:
    return text.rstrip()


def length(_dtype: DataType, text: str) -> int:
    return len(text)


def substring(_dtype: DataType, text: str, start: int, count: int | None = None) -> str:
    """So many characters from a place on, or all of them."""
    first = max(0, start + len(text)) if start < 0 else start
    return text[first:] if count is None else text[first : first + max(0, count)]


def left(_dtype: DataType, text: str, count: int) -> str:
    return text[: max(0, count)]


def right(_dtype: DataType, text: str, count: int) -> str:
    return text[max(0, len(text) - max(0, count)) :]


def replace(_dtype: DataType, text: str, old: str, new: str) -> str:
    """Every occurrence replaced; an empty text occurs nowhere."""
    if not old:
        return text
    growth = text.count(old) * (len(new) - len(old))
    fit_length(len(text) + growth, TEXT_MAX, _CHARACTERS)
    return text.replace(old, new)


def split(_dtype: DataType, text: str, separator: str) -> tuple[str, ...]:
    """The parts between separators; without one, the characters."""
    parts = tuple(text.split(separator)) if separator else tuple(text)
    fit_length(len(parts), ITEMS_MAX, "items")
    return parts


def join(_dtype: DataType, items: Sequence[str | None], separator: str) -> str:
    """The items that are not NULL, with a separator between them."""
    texts = [item for item in items if item is not None]
    fit_length(sum(map(len, texts)) + len(separator) * len(texts), TEXT_MAX, _CHARACTERS)
    return separator.join(texts)


def concatenate(_dtype: DataType, one: str, other: str) -> str:
    fit_length(len(one) + len(other), TEXT_MAX, _CHARACTERS)
    return one + other


def hashed(_dtype: DataType, text: str) -> int:
    """The first 64 bits of SHA-256 of the text in UTF-8."""
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
