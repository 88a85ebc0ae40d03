"""Putting a file where somebody will rely on it: whole, safe from a power cut, one at a time."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from omnigraph.errors import Conflict, InvalidInput, Unsupported
from omnigraph.runtime.files import is_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path
    from typing import IO

__all__ = ["install"]

# LOCK_EX | LOCK_NB, as POSIX has them.
_EXCLUSIVE_AT_ONCE = 2 | 4


def install(path: Path, chunks: Iterable[bytes], *, mode: int | None = None) -> None:
    """Write a file beside its place, sync it, move it there, sync the directory.

    ``mode`` are its permissions, from the first byte on. Whoever reads the place sees the old file
    or the new one. Two who install at once do so one after the other: the second is refused. A link
    stays, and what it points to is replaced; what is no file is written to as it is.
    """
    try:
        import fcntl  # noqa: PLC0415 - not there on every system
    except ImportError as error:
        raise Unsupported(
            "file.not_posix", "a file cannot be installed durably on this system"
        ) from error
    try:
        if is_stream(path):
            with path.open("wb") as stream:
                stream.writelines(chunks)
            return
        real = path.resolve()
        with _locked(real.with_name(f"{real.name}.lock"), fcntl.flock):
            _replace(real, chunks, mode)
    except OSError as error:
        raise InvalidInput(
            "file.unwritable", f"{path} cannot be written: {error.strerror or error}"
        ) from error


@contextlib.contextmanager
def _locked(path: Path, flock: Callable[[IO[bytes], int], None]) -> Iterator[None]:
    with path.open("wb") as lock:
        try:
            flock(lock, _EXCLUSIVE_AT_ONCE)
        except BlockingIOError as error:
            raise Conflict(
                "file.locked",
                f"somebody else is writing beside {path}",
                remedy="wait for them, or choose another file",
            ) from error
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _sync(descriptor: int) -> None:
    """On macOS fsync stops at the drive's cache; the full sync does not."""
    import fcntl  # noqa: PLC0415 - install has made sure that it is there

    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is None:
        os.fsync(descriptor)
        return
    try:
        fcntl.fcntl(descriptor, full)
    except OSError:  # a file system that knows no full sync
        os.fsync(descriptor)


def _replace(path: Path, chunks: Iterable[bytes], mode: int | None) -> None:
    partial = path.with_name(f"{path.name}.partial")
    partial.unlink(missing_ok=True)
    try:
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode or 0o666)
        with os.fdopen(handle, "wb") as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            _sync(file.fileno())
            written = os.fstat(file.fileno()).st_ino
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        _sync(directory)
    finally:
        os.close(directory)
    if path.stat().st_ino != written:
        raise Conflict("file.replaced", f"somebody else has replaced {path} meanwhile")
