"""Writes output files that users name."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from omnigraph.runtime.ids import new_ulid

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["is_stream", "open_atomically"]

# The part of the name that a temporary file keeps; file systems allow 255 bytes.
_NAME_KEPT = 50


@contextmanager
def open_atomically(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file to write, which appears under its name when it is complete.

    A symbolic link is kept, and its target is replaced. A pipe or device is written to directly.
    """
    place = Path(path)
    if is_stream(place):
        with place.open("wb") as file:
            yield file
        return
    real = place.resolve()
    partial = real.with_name(f"{real.name[:_NAME_KEPT]}.{new_ulid()}.partial")
    try:
        with partial.open("xb") as file:
            yield file
        partial.replace(real)
    finally:
        partial.unlink(missing_ok=True)


def is_stream(path: Path) -> bool:
    """Whether a path is a pipe, device or the like, which a rename would replace."""
    return path.exists() and not path.is_file()
