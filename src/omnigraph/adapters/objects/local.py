"""Small objects as files of a local directory.

Written on the calls of the operating system, not on obstore: an object must be synced *before* it
becomes visible under its name, and obstore syncs neither before nor after.

A write goes to a hidden file beside its target, is synced when the graph is durable, and then gets
its name in one step: ``rename`` replaces, ``link`` creates only where nothing is. Deletes are not
synced; what a power cut brings back is an object that its owner deletes again.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.adapters.disk import make_directories, sync_descriptor, sync_directory
from omnigraph.adapters.objects.keys import TEMPORARY, missing, require_key, require_prefix
from omnigraph.adapters.remedies import remedy_for
from omnigraph.errors import NotFound, StorageFault
from omnigraph.runtime.ids import new_short_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["LocalObjects"]

_CHUNK_BYTES = 4 * 2**20

# What link() says where the file system has no hard links.
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS})


class LocalObjects:
    """Objects under one directory. The directory is made by ``create_root`` only."""

    def __init__(self, root: str | Path, *, durable: bool = False) -> None:
        self._root = _absolute(root)
        self._prefix = f"{self._root}/"
        self._durable = durable

    def __repr__(self) -> str:
        return f"LocalObjects({str(self._root)!r}, durable={self._durable})"

    @property
    def uri(self) -> str:
        return str(self._root)

    def create_root(self) -> None:
        with self._faults("create"):
            existing = next(path for path in self._root.parents if path.is_dir())
            make_directories(existing, self._root, durable=self._durable)

    def get(self, key: str) -> bytes:
        path = self._path(key)
        with self._faults("read", key):
            try:
                return path.read_bytes()
            except (FileNotFoundError, IsADirectoryError):
                raise missing(key, self.uri) from None

    def size(self, key: str) -> int:
        path = self._path(key)
        with self._faults("read", key):
            try:
                status = path.stat()
            except FileNotFoundError:
                raise missing(key, self.uri) from None
        if stat.S_ISDIR(status.st_mode):
            raise missing(key, self.uri)
        return status.st_size

    def exists(self, key: str) -> bool:
        # Every read of a branch asks this once, so it is one call of the system and little else.
        try:
            return not stat.S_ISDIR(os.stat(f"{self._prefix}{require_key(key)}").st_mode)  # noqa: PTH116
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self._fault("read", key, error) from error

    def put(self, key: str, body: bytes) -> None:
        path = self._path(key)
        with self._faults("write", key), self._written_aside(path.parent, [body]) as temporary:
            temporary.replace(path)
            self._sync_directory(path.parent)

    def read_chunks(self, key: str) -> Iterator[bytes]:
        path = self._path(key)
        with self._faults("read", key):
            try:
                with path.open("rb") as file:
                    while chunk := file.read(_CHUNK_BYTES):
                        yield chunk
            except (FileNotFoundError, IsADirectoryError):
                raise missing(key, self.uri) from None

    def write_chunks(self, key: str, chunks: Iterable[bytes]) -> int:
        path = self._path(key)
        with self._faults("write", key), self._written_aside(path.parent, chunks) as temporary:
            size = temporary.stat().st_size
            temporary.replace(path)
            self._sync_directory(path.parent)
        return size

    def put_if_absent(self, key: str, body: bytes) -> bool:
        path = self._path(key)
        with self._faults("write", key), self._written_aside(path.parent, [body]) as temporary:
            try:
                _link(temporary, path)
            except FileExistsError:
                return self._holds(key, body)
            temporary.unlink()
            self._sync_directory(path.parent)
        return True

    def delete(self, key: str) -> None:
        path = self._path(key)
        with self._faults("delete", key):
            try:
                path.unlink()
            except FileNotFoundError:
                return
            except (IsADirectoryError, PermissionError):
                # A directory is no object; which of the two unlink() says depends on the system.
                if not path.is_dir():
                    raise

    def list(self, prefix: str) -> list[str]:
        prefix = require_prefix(prefix)
        with self._faults("list", prefix):
            return sorted(_walk(self._root / prefix, prefix))

    def delete_prefix(self, prefix: str) -> None:
        for key in self.list(prefix):
            self.delete(key)
        with suppress(OSError):  # empty directories do not exist for anyone: tidy up if possible
            self._prune(self._root / prefix)

    def _path(self, key: str) -> Path:
        return self._root / require_key(key)

    def _holds(self, key: str, body: bytes) -> bool:
        try:
            return self.get(key) == body
        except NotFound:  # the winner's object is gone again; this writer has still lost
            return False

    def _prune(self, path: Path) -> None:
        with os.scandir(path) as entries:
            below = [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
        for directory in below:
            self._prune(directory)
        if path != self._root:
            path.rmdir()

    @contextmanager
    def _written_aside(self, directory: Path, chunks: Iterable[bytes]) -> Iterator[Path]:
        """A whole file in ``directory`` under a hidden name, synced if need be; gone afterwards."""
        temporary = directory / f"{TEMPORARY}{new_short_id()}"
        descriptor = self._create(temporary)
        try:
            with os.fdopen(descriptor, "wb") as file:
                for chunk in chunks:
                    file.write(chunk)
                if self._durable:
                    file.flush()
                    sync_descriptor(descriptor)
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)

    def _create(self, path: Path) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            return os.open(path, flags, 0o666)
        except FileNotFoundError:
            make_directories(self._root, path.parent, durable=self._durable)
            return os.open(path, flags, 0o666)

    def _sync_directory(self, directory: Path) -> None:
        if self._durable:
            sync_directory(directory)

    @contextmanager
    def _faults(self, verb: str, key: str = "") -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._fault(verb, key, error) from error

    def _fault(self, verb: str, key: str, error: OSError) -> StorageFault:
        details = {"key": key, "uri": self.uri}
        if verb == "write" and not self._root.is_dir():
            return StorageFault(
                "storage.root_missing",
                f"{self._root} is not there any more; {key!r} was not written",
                details=details,
                remedy="Open the graph where it is now.",
            )
        if isinstance(error, _NoHardLinks):
            return StorageFault(
                "storage.no_hard_links",
                f"the file system of {self._root} has no hard links",
                details=details,
                remedy="Keep the graph on a file system with hard links, or in an S3 bucket.",
            )
        if isinstance(error, NotADirectoryError) and self._root.is_file():
            return StorageFault(
                "storage.not_a_directory",
                f"{self._root} is a file, and a graph is a directory",
                details=details,
                remedy="Name the directory of the graph, or choose another place for a new one.",
            )
        reason = error.strerror or str(error)
        return StorageFault(
            "storage.failed",
            f"cannot {verb} {self._root / key}: {reason}",
            details=details,
            remedy=remedy_for(reason) if verb != "read" else None,
        )


def _absolute(root: str | Path) -> Path:
    try:
        return Path(os.path.abspath(root))  # noqa: PTH100 - Path.absolute() keeps '..'
    except FileNotFoundError as error:
        raise StorageFault(
            "storage.no_directory",
            f"{root} is a path from the current directory, which is not there any more",
            remedy="Change to a directory that exists, or give the whole path.",
        ) from error


class _NoHardLinks(OSError):
    """link() is not available here."""


def _walk(directory: Path, prefix: str) -> Iterator[str]:
    try:
        entries = os.scandir(directory)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        if directory.is_file():  # an object; nothing lies below it
            return
        raise
    with entries:
        for entry in entries:
            key = f"{prefix}/{entry.name}" if prefix else entry.name
            if entry.is_dir():
                yield from _walk(directory / entry.name, key)
            elif not entry.name.startswith(TEMPORARY):
                yield key


def _link(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError as error:
        if error.errno in _NO_LINKS:
            raise _NoHardLinks(error.errno, error.strerror) from error
        raise
