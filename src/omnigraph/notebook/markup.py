"""Escape text for HTML and SVG, without the entity table that ``html`` loads."""

from __future__ import annotations

__all__ = ["escape"]

_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"}
    # Control characters, which XML does not allow.
    | {chr(code): "\ufffd" for code in range(32) if chr(code) not in "\t\n\r"}
)


def escape(text: str) -> str:
    """Escape a text for HTML and SVG."""
    return text.translate(_ESCAPES)
