"""Simulates a power cut: computes the content of a disk that keeps only synced data.

A file system guarantees two things only: the content of a file is durable as of its last sync, and
the names in a directory as of the last sync of that directory. ``PowerLossDisk`` records the syncs
of this process and can at any time build the tree that these guarantees leave::

    with PowerLossDisk(root) as disk:
        ...                       # write
        disk.cut_to(other)        # other is the disk after a reboot
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import sys
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Self
from unittest import mock

from omnigraph.runtime.ids import new_short_id

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["PowerLossDisk"]


@dataclass(slots=True)
class _Durable:
    """The durable content of the disk, by inode."""

    contents: dict[int, bytes] = field(default_factory=dict)
    names: dict[int, dict[str, int]] = field(default_factory=dict)
    # The last known kind of an inode, because a durable name may outlive its file.
    directories: set[int] = field(default_factory=set)


class PowerLossDisk:
    """Records ``os.fsync`` below one directory. Existing content counts as durable."""

    def __init__(self, root: str | Path) -> None:
        self._root = Path(root).resolve()
        self._durable = _Durable()
        self._lock = RLock()
        self._watching = ExitStack()
        # Recorded inodes must not be reused, so each gets an additional name here.
        self._kept = self._root.parent / f".power-{new_short_id()}"
        self._kept_directories: dict[int, int] = {}

    def __enter__(self) -> Self:
        self._kept.mkdir()
        if self._root.exists():
            for directory, _, files in os.walk(self._root):
                for name in files:
                    self._remember_file(Path(directory, name))
                self._remember_directory(Path(directory))
            self._remember_directory(self._root.parent)
        fsync = os.fsync

        def watched_fsync(descriptor: int) -> None:
            fsync(descriptor)
            self._synced(descriptor)

        self._watching.enter_context(mock.patch.object(os, "fsync", watched_fsync))
        if sys.platform == "darwin":
            self._watch_full_sync()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._watching.close()
        for descriptor in self._kept_directories.values():
            os.close(descriptor)
        shutil.rmtree(self._kept)

    def cut_to(self, target: str | Path, *, seed: int | None = None) -> None:
        """Build the content of the root after a reboot in ``target``.

        Without a seed all unsynced data is lost. With one, each unsynced name and content is lost,
        kept or torn at random: a disk may have written more than it guarantees.
        """
        with self._lock:
            parent = self._root.parent.stat().st_ino
            inode = self._durable.names.get(parent, {}).get(self._root.name)
            if inode is None:
                return  # the name of the root itself is not durable
            self._rebuild(inode, self._root, Path(target), seed)

    def _rebuild(self, inode: int, live: Path, target: Path, seed: int | None) -> None:
        if inode in self._durable.directories:
            target.mkdir(parents=True, exist_ok=True)
            for name, child in sorted(self._names(inode, live, seed).items()):
                self._rebuild(child, live / name, target / name, seed)
            return
        target.write_bytes(self._contents(inode, live, seed))

    def _names(self, inode: int, live: Path, seed: int | None) -> dict[str, int]:
        durable = self._durable.names.get(inode, {})
        if seed is None:
            return durable
        current = _names_of(live) if live.is_dir() else {}
        chosen: dict[str, int] = {}
        for name in durable.keys() | current.keys():
            source = current if _coin(seed, live / name, "name") % 2 else durable
            if name in source:
                chosen[name] = source[name]
                if source is current and (live / name).is_dir():
                    self._durable.directories.add(source[name])
        return chosen

    def _contents(self, inode: int, live: Path, seed: int | None) -> bytes:
        durable = self._durable.contents.get(inode, b"")
        if seed is None or not live.is_file() or live.stat().st_ino != inode:
            return durable
        current = live.read_bytes()
        if current == durable:
            return durable
        torn = current[: len(current) // 2]
        zeros = bytes(len(current))
        return (durable, current, torn, zeros)[_coin(seed, live, "contents") % 4]

    def _synced(self, descriptor: int) -> None:
        path = _path_of(descriptor)
        inside = path.is_relative_to(self._root) or path == self._root.parent
        if not inside or not path.exists():
            return
        with self._lock:
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                self._remember_directory(path)
            else:
                self._remember_file(path)

    def _remember_file(self, path: Path) -> None:
        self._durable.contents[self._keep(path)] = path.read_bytes()

    def _remember_directory(self, path: Path) -> None:
        only = {self._root.name} if path == self._root.parent else None
        names: dict[str, int] = {}
        for name in _names_of(path):
            if only is None or name in only:
                # Concurrent writers may remove a name; it was not durable.
                with suppress(FileNotFoundError):
                    names[name] = self._keep_entry(path / name)
        self._durable.names[self._keep_directory(path)] = names

    def _keep_entry(self, path: Path) -> int:
        return self._keep_directory(path) if path.is_dir() else self._keep(path)

    def _keep(self, path: Path) -> int:
        inode = path.stat().st_ino
        kept = self._kept / str(inode)
        if not kept.exists():
            kept.hardlink_to(path)
        return inode

    def _keep_directory(self, path: Path) -> int:
        inode = path.stat().st_ino
        if inode not in self._kept_directories:
            self._kept_directories[inode] = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        self._durable.directories.add(inode)
        return inode

    def _watch_full_sync(self) -> None:  # pragma: no cover - macOS
        import fcntl  # noqa: PLC0415 - this platform only

        plain, full = fcntl.fcntl, getattr(fcntl, "F_FULLFSYNC", None)

        def watched_fcntl(descriptor: int, command: int, argument: Any = 0) -> Any:
            answer = plain(descriptor, command, argument)
            if command == full:
                self._synced(descriptor)
            return answer

        self._watching.enter_context(mock.patch.object(fcntl, "fcntl", watched_fcntl))


def _names_of(directory: Path) -> dict[str, int]:
    with os.scandir(directory) as entries:
        return {entry.name: entry.inode() for entry in entries}


def _path_of(descriptor: int) -> Path:
    if sys.platform == "darwin":  # pragma: no cover - macOS
        import fcntl  # noqa: PLC0415 - this platform only

        name = fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024))
        return Path(os.fsdecode(name.rstrip(b"\0")))
    return Path(f"/proc/self/fd/{descriptor}").readlink()


def _coin(seed: int, path: Path, what: str) -> int:
    return hashlib.sha256(f"{seed}:{what}:{path}".encode()).digest()[0]
