"""Parses JSON from storage, from files and from users."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["MALFORMED", "parse_json"]

# The exceptions of readers of damaged JSON objects. OverflowError: an infinite number where an
# integer is expected. RecursionError: a reader that follows nested values.
MALFORMED = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    IndexError,
    OverflowError,
    RecursionError,
)


def parse_json(text: str | bytes, **options: Any) -> Any:
    """Parse JSON like ``json.loads``, but raise a ValueError for text that is nested too deeply."""
    try:
        return json.loads(text, **options)
    except RecursionError as error:
        raise ValueError("the nesting is too deep") from error
