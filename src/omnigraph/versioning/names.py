"""Names of branches and tags: what is allowed, and how they are spelled on disk."""

from __future__ import annotations

from urllib.parse import unquote

__all__ = [
    "decode_name",
    "encode_name",
]


def encode_name(name: str) -> str:
    """One path segment. Upper-case letters are escaped: file systems may ignore case."""
    return "".join(
        char if char.islower() or char.isdigit() or char in "._-" else f"%{ord(char):02X}"
        for char in name
    )


def decode_name(encoded: str) -> str:
    return unquote(encoded)
