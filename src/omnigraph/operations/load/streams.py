"""Bytes of an input, whatever it is: a path, an open file or bytes; plain, gzip or zstd."""

from __future__ import annotations

import io
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    import hashlib
    from collections.abc import Iterator

__all__ = ["Broken", "Stream", "Tap", "open_stream", "stream_name"]

# Compression is told by the first bytes; names lie.
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_MAGIC_LENGTH = 4


class Broken(Exception):
    """The bytes end or go wrong in the middle."""


class Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Reading(io.RawIOBase):
    """Gives as much as is asked for, though what it reads from may give less at a time."""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        found = self._take(size)
        while found and len(found) < size and (more := self._take(size - len(found))):
            found += more
        return found

    def _take(self, size: int) -> bytes:
        raise NotImplementedError


class Tap(_Reading):
    """The bytes as they lie there: counted, and hashed if somebody wants to know them again."""

    def __init__(self, inner: Any, digest: hashlib._Hash | None = None) -> None:
        super().__init__()
        self._inner = inner
        self._digest = digest
        self._ahead = b""
        self.count = 0

    def peek(self, size: int) -> bytes:
        """The next bytes, which stay where they are."""
        self._ahead = self.read(size)
        return self._ahead

    def _take(self, size: int) -> bytes:
        if self._ahead:
            wanted = len(self._ahead) if size < 0 else size
            found, self._ahead = self._ahead[:wanted], self._ahead[wanted:]
            return found
        given = self._inner.read(size)
        data = given.encode() if isinstance(given, str) else bytes(given or b"")
        self.count += len(data)
        if self._digest is not None:
            self._digest.update(data)
        return data


class _Unpacked(_Reading):
    """The bytes of a compressed stream."""

    def __init__(self, tap: Tap, codec: str) -> None:
        super().__init__()
        self._stream = pa.CompressedInputStream(pa.PythonFile(tap, mode="r"), codec)
        self._codec = codec

    def _take(self, size: int) -> bytes:
        try:
            return bytes(self._stream.read(size))
        except OSError as error:
            raise Broken(f"{self._codec}: {str(error).lower()}") from error


@contextmanager
def open_stream(source: Any, digest: hashlib._Hash | None = None) -> Iterator[tuple[Tap, Stream]]:
    """The tap of an input, for its position, and its bytes without compression."""
    opened = _open(source)
    try:
        tap = Tap(opened, digest)
        codec = _codec_of(tap.peek(_MAGIC_LENGTH))
        yield tap, tap if codec is None else _Unpacked(tap, codec)
    finally:
        if opened is not source:
            opened.close()


def stream_name(source: Any) -> str | None:
    """What to call an input in messages."""
    if isinstance(source, str | Path):
        return str(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else None


def _open(source: Any) -> Any:
    if isinstance(source, bytes | bytearray | memoryview):
        return io.BytesIO(source)
    if not isinstance(source, str | Path):
        return source
    try:
        return Path(source).open("rb", buffering=0)
    except (OSError, ValueError) as error:
        # A path with a NUL in it is no path at all.
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise InvalidInput("file.unreadable", f"{str(source)!r} cannot be read: {why}") from error


def _codec_of(first: bytes) -> str | None:
    return next((codec for magic, codec in _MAGIC.items() if first.startswith(magic)), None)
