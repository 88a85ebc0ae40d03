"""Syncing to a local disk, so that a power cut loses nothing that was acknowledged.

A file and the directory entry that names it are synced apart: first the file, then its directory.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["make_directories", "sync_descriptor", "sync_directory", "sync_file"]


if sys.platform == "darwin":
    import fcntl

    def sync_descriptor(descriptor: int) -> None:
        """Sync an open file. On macOS fsync stops at the drive's cache; the full sync does not."""
        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        except OSError:  # a file system that knows no full sync (some network mounts)
            os.fsync(descriptor)

else:

    def sync_descriptor(descriptor: int) -> None:
        """Sync an open file."""
        os.fsync(descriptor)


def sync_file(path: Path | str) -> None:
    """Make the contents of a file durable; its name needs ``sync_directory`` as well."""
    _sync(path, os.O_RDONLY)


def sync_directory(path: Path | str) -> None:
    """Make the names in a directory durable."""
    _sync(path, os.O_RDONLY | os.O_DIRECTORY)


def make_directories(root: str, target: str, *, durable: bool) -> None:
    """Create the directories between ``root`` and ``target``, one by one, never ``root`` itself.

    Raises FileNotFoundError when the root has vanished, because a graph that was moved away must
    not be half re-created under its old name.
    """
    if target == root:
        return
    parent = os.path.dirname(target)
    # Mostly only the last one is missing, so they are tried from there.
    with suppress(FileExistsError):
        try:
            os.mkdir(target)
        except FileNotFoundError:
            if parent == root:
                raise
            make_directories(root, parent, durable=durable)
            os.mkdir(target)
        if durable:
            sync_directory(parent)


def _sync(path: Path | str, flags: int) -> None:
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        sync_descriptor(descriptor)
    finally:
        os.close(descriptor)
