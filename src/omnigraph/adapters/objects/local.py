"""Small objects as files of a local directory.

Written on the calls of the operating system, not on obstore: an object must be synced *before* it
becomes visible under its name, and obstore syncs neither before nor after.

A write goes to a hidden file beside its target, is synced when the graph is durable, and then gets
its name in one step: ``rename`` replaces, ``link`` creates only where nothing is. Deletes are not
synced; what a power cut brings back is an object that its owner deletes again.

Paths are texts here: every write puts and removes several objects, and making a ``Path`` takes as
long as the call that it is for.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.adapters.disk import (
    make_directories,
    sync_descriptor,
    sync_directory,
    sync_file,
)
from omnigraph.adapters.objects.keys import TEMPORARY, missing, require_key, require_prefix
from omnigraph.adapters.remedies import remedy_for
from omnigraph.errors import NotFound, StorageFault
from omnigraph.runtime.ids import new_short_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["LocalObjects"]

_CHUNK_BYTES = 4 * 2**20

# How many files an open looks at in search of unfinished writes: about a millisecond, however long
# the history is. Cleanup finds the others.
_LOOKED_AT_MAX = 1_000

# What link() says where the file system has no hard links.
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS})


class LocalObjects:
    """Objects under one directory. The directory is made by ``create_root`` only."""

    def __init__(self, root: str | Path, *, durable: bool = False) -> None:
        self._root = _absolute(root)
        self._durable = durable

    def __repr__(self) -> str:
        return f"LocalObjects({self._root!r}, durable={self._durable})"

    @property
    def uri(self) -> str:
        return self._root

    def create_root(self) -> None:
        with self._faults("create"):
            existing = next(path for path in Path(self._root).parents if path.is_dir())
            make_directories(str(existing), self._root, durable=self._durable)

    def get(self, key: str) -> bytes:
        path = self._path(key)
        with self._faults("read", key):
            try:
                with open(path, "rb", buffering=0) as file:
                    return file.read()
            except (FileNotFoundError, IsADirectoryError):
                raise missing(key, self.uri) from None

    def size(self, key: str) -> int:
        path = self._path(key)
        with self._faults("read", key):
            try:
                status = os.stat(path)
            except FileNotFoundError:
                raise missing(key, self.uri) from None
        if stat.S_ISDIR(status.st_mode):
            raise missing(key, self.uri)
        return status.st_size

    def exists(self, key: str) -> bool:
        # Every read of a branch asks this once, so it is one call of the system and little else.
        try:
            return not stat.S_ISDIR(os.stat(self._path(key)).st_mode)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self._fault("read", key, error) from error

    def put(self, key: str, body: bytes) -> None:
        path = self._path(key)
        with self._faults("write", key), self._written_aside(path, [body]) as temporary:
            os.replace(temporary, path)
            self._sync_directory(path)

    def read_chunks(self, key: str) -> Iterator[bytes]:
        path = self._path(key)
        with self._faults("read", key):
            try:
                with open(path, "rb") as file:
                    while chunk := file.read(_CHUNK_BYTES):
                        yield chunk
            except (FileNotFoundError, IsADirectoryError):
                raise missing(key, self.uri) from None

    def write_chunks(self, key: str, chunks: Iterable[bytes]) -> int:
        path = self._path(key)
        with self._faults("write", key), self._written_aside(path, chunks) as temporary:
            size = os.stat(temporary).st_size
            os.replace(temporary, path)
            self._sync_directory(path)
        return size

    def put_if_absent(self, key: str, body: bytes) -> bool:
        path = self._path(key)
        with self._faults("write", key):
            with self._written_aside(path, [body]) as temporary:
                is_new = _link(temporary, path)
                os.unlink(temporary)
            if not is_new and not self._holds(key, body):
                return False
            # The same object may be another writer's, which has not synced its name yet.
            self._sync_directory(path)
        return True

    def sync(self, key: str) -> None:
        path = self._path(key)
        with self._faults("sync", key):
            if self._durable:
                try:
                    sync_file(path)
                except FileNotFoundError:
                    raise missing(key, self.uri) from None
                self._sync_directory(path)

    def delete(self, key: str) -> None:
        path = self._path(key)
        with self._faults("delete", key):
            try:
                os.unlink(path)
            except FileNotFoundError:
                return
            except (IsADirectoryError, PermissionError):
                # A directory is no object; which of the two unlink() says depends on the system.
                if not os.path.isdir(path):
                    raise

    def list(self, prefix: str) -> list[str]:
        prefix = require_prefix(prefix)
        with self._faults("list", prefix):
            return sorted(_walk(self._below(prefix), prefix))

    def list_starting(self, prefix: str, start: str) -> Sequence[str]:
        with self._faults("list", require_prefix(prefix)):
            try:
                names = os.listdir(self._below(prefix))
            except (FileNotFoundError, NotADirectoryError):
                return []
        return sorted(f"{prefix}/{name}" for name in names if name.startswith(start))

    def list_modified(self, prefix: str) -> Sequence[tuple[str, int]]:
        found = []
        with self._faults("list", require_prefix(prefix)):
            for path in _files(self._below(prefix), deep=False):
                with suppress(FileNotFoundError):
                    modified = os.stat(path).st_mtime_ns // 1_000
                    found.append((f"{prefix}/{os.path.basename(path)}", modified))
        return sorted(found, key=itemgetter(1), reverse=True)

    def delete_prefix(self, prefix: str) -> None:
        for key in self.list(prefix):
            self.delete(key)
        with suppress(OSError):  # empty directories do not exist for anyone: tidy up if possible
            self._prune(self._below(prefix))

    def remove_temporaries(self, prefixes: Iterable[str], *, before_micros: int) -> int:
        removed = 0
        with self._faults("delete"):
            files = (
                path
                for prefix in prefixes
                for path in _files(self._below(prefix), deep=prefix != "")
            )
            for path in islice(files, _LOOKED_AT_MAX):
                if os.path.basename(path).startswith(TEMPORARY):
                    with suppress(FileNotFoundError):
                        if os.stat(path).st_mtime_ns < before_micros * 1_000:
                            os.unlink(path)
                            removed += 1
        return removed

    def _below(self, prefix: str) -> str:
        return f"{self._root}/{prefix}" if prefix else self._root

    def _path(self, key: str) -> str:
        return f"{self._root}/{require_key(key)}"

    def _holds(self, key: str, body: bytes) -> bool:
        try:
            return self.get(key) == body
        except NotFound:  # the winner's object is gone again; this writer has still lost
            return False

    def _prune(self, path: str) -> None:
        with os.scandir(path) as entries:
            below = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        for directory in below:
            self._prune(directory)
        if path != self._root:
            os.rmdir(path)

    @contextmanager
    def _written_aside(self, path: str, chunks: Iterable[bytes]) -> Iterator[str]:
        """A whole file beside ``path`` under a hidden name, synced if need be. The block gives it
        another name; it is removed when the block does not end."""
        directory = os.path.dirname(path)
        temporary = f"{directory}/{TEMPORARY}{new_short_id()}"
        descriptor = self._create(temporary, directory)
        try:
            with open(descriptor, "wb") as file:
                for chunk in chunks:
                    file.write(chunk)
                if self._durable:
                    file.flush()
                    sync_descriptor(descriptor)
            yield temporary
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
            raise

    def _create(self, path: str, directory: str) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            return os.open(path, flags, 0o666)
        except FileNotFoundError:
            make_directories(self._root, directory, durable=self._durable)
            return os.open(path, flags, 0o666)

    def _sync_directory(self, path: str) -> None:
        if self._durable:
            sync_directory(os.path.dirname(path))

    @contextmanager
    def _faults(self, verb: str, key: str = "") -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._fault(verb, key, error) from error

    def _fault(self, verb: str, key: str, error: OSError) -> StorageFault:
        details = {"key": key, "uri": self.uri}
        if verb == "write" and not os.path.isdir(self._root):
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
        if isinstance(error, NotADirectoryError) and os.path.isfile(self._root):
            return StorageFault(
                "storage.not_a_directory",
                f"{self._root} is a file, and a graph is a directory",
                details=details,
                remedy="Name the directory of the graph, or choose another place for a new one.",
            )
        reason = error.strerror or str(error)
        return StorageFault(
            "storage.failed",
            f"cannot {verb} {self._root}/{key}: {reason}",
            details=details,
            remedy=remedy_for(reason) if verb != "read" else None,
        )


def _absolute(root: str | Path) -> str:
    try:
        return os.path.abspath(root)  # Path.absolute() keeps '..'
    except FileNotFoundError as error:
        raise StorageFault(
            "storage.no_directory",
            f"{root} is a path from the current directory, which is not there any more",
            remedy="Change to a directory that exists, or give the whole path.",
        ) from error


class _NoHardLinks(OSError):
    """link() is not available here."""


def _walk(directory: str, prefix: str) -> Iterator[str]:
    try:
        entries = os.scandir(directory)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        if os.path.isfile(directory):  # an object; nothing lies below it
            return
        raise
    with entries:
        for entry in entries:
            key = f"{prefix}/{entry.name}" if prefix else entry.name
            if entry.is_dir():
                yield from _walk(f"{directory}/{entry.name}", key)
            elif not entry.name.startswith(TEMPORARY):
                yield key


def _files(directory: str, *, deep: bool = True) -> Iterator[str]:
    """The files of a directory, and of those below it; entries are read as they are needed."""
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    yield entry.path
                elif deep:
                    yield from _files(entry.path)
    except (FileNotFoundError, NotADirectoryError):
        return


def _link(source: str, target: str) -> bool:
    """A second name for a file; False when the name is taken."""
    try:
        os.link(source, target)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno in _NO_LINKS:
            raise _NoHardLinks(error.errno, error.strerror) from error
        raise
    return True
