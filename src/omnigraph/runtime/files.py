"""The file that somebody names to have something written to it."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from omnigraph.runtime.ids import new_ulid

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["is_stream", "open_whole"]

# So much of a name is kept beside the mark of something unfinished; file systems allow 255 bytes.
_NAME_KEPT = 50


@contextmanager
def open_whole(path: str | Path) -> Iterator[BinaryIO]:
    """A file to write. It appears in its place when it is complete, and not before.

    A link stays, and what it points to is replaced. What is no file is written to as it is.
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
    """Whether there is something that is no file, such as a pipe or a device: moving a file there
    would put it out of the world."""
    return path.exists() and not path.is_file()
