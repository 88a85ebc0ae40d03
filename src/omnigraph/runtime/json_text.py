"""Parsing JSON text that others wrote: objects in storage, files and parameters of users."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["MALFORMED", "parse_json"]

# The exceptions that a reader of a damaged JSON object can raise. OverflowError: an infinite number
# where an integer is expected. RecursionError: a reader that follows nested values.
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
    """Parse JSON like ``json.loads``; text that is nested too deeply is a ValueError too."""
    try:
        return json.loads(text, **options)
    except RecursionError as error:
        raise ValueError("its values are nested too deeply") from error
