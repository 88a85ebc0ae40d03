"""Write files atomically and durably."""

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

__all__ = ["write_atomically"]

# LOCK_EX | LOCK_NB of POSIX.
_EXCLUSIVE_NONBLOCKING = 2 | 4


def write_atomically(path: Path, chunks: Iterable[bytes], *, mode: int | None = None) -> None:
    """Write a temporary file, sync it, rename it to ``path`` and sync the directory.

    ``mode`` sets the permissions on creation. Readers see the old file or the new one. A lock file
    refuses a second concurrent writer. A symbolic link is kept and its target is replaced; a stream
    is written directly.
    """
    try:
        import fcntl  # noqa: PLC0415 - POSIX only
    except ImportError as error:
        raise Unsupported(
            "file.not_posix",
            "cannot write a file durably on this system: POSIX file locks are missing",
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
            "file.unwritable", f"cannot write {path}: {error.strerror or error}"
        ) from error


@contextlib.contextmanager
def _locked(path: Path, flock: Callable[[IO[bytes], int], None]) -> Iterator[None]:
    with path.open("wb") as lock:
        try:
            flock(lock, _EXCLUSIVE_NONBLOCKING)
        except BlockingIOError as error:
            raise Conflict(
                "file.locked",
                f"another process holds the lock {path}",
                remedy="wait until it has finished, or choose another file",
            ) from error
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _sync(descriptor: int) -> None:
    """Sync a file; on macOS only a full sync flushes the cache of the drive."""
    import fcntl  # noqa: PLC0415 - checked by the caller

    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is None:
        os.fsync(descriptor)
        return
    try:
        fcntl.fcntl(descriptor, full)
    except OSError:  # a file system without full sync
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
        raise Conflict("file.replaced", f"another process has replaced {path}")
