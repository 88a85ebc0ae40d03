"""Text in markup. The standard module for it loads a table of two thousand entities."""

from __future__ import annotations

__all__ = ["escape"]

_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"}
    # What XML cannot hold at all.
    | {chr(code): "\ufffd" for code in range(32) if chr(code) not in "\t\n\r"}
)


def escape(text: str) -> str:
    """The text, so that nothing in it is markup."""
    return text.translate(_ESCAPES)
