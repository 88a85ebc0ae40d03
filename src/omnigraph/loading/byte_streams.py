"""Byte streams of an input: a path, an open file or bytes; plain, gzip or zstd."""

from __future__ import annotations

import io
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    import hashlib
    from collections.abc import Callable, Iterator

__all__ = ["CorruptStream", "CountingStream", "Stream", "codec_of", "open_stream", "stream_name"]

# The first bytes identify the compression; file names are unreliable.
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_MAGIC_LENGTH = 4
_PACKED_BYTES = 256 * 2**10
_STEP_BYTES = 64 * 2**10
# Makes zlib expect the header of gzip.
_GZIP = 16 + zlib.MAX_WBITS


class CorruptStream(Exception):
    """The bytes are truncated or damaged."""


class Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Reading(io.RawIOBase):
    """A raw stream that fills every read, though its source may return less at a time."""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        first = self._take(size)
        if not first or len(first) >= size:
            return first
        found = bytearray(first)
        try:
            while len(found) < size and (more := self._take(size - len(found))):
                found += more
        except CorruptStream:
            # Return the bytes before the damage; the next read raises.
            pass
        return bytes(found)

    def _take(self, size: int) -> bytes:
        raise NotImplementedError


class CountingStream(_Reading):
    """The raw bytes of an input, counted and optionally hashed."""

    def __init__(self, inner: Any, digest: hashlib._Hash | None = None) -> None:
        super().__init__()
        self._inner = inner
        self._digest = digest
        self._ahead = b""
        self.count = 0

    def peek(self, size: int) -> bytes:
        """Return the next bytes without consuming them."""
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


class _Zstd(_Reading):
    """The decompressed bytes of a zstd stream.

    Reads in small steps: a failed step returns nothing, and the records before the damage count.
    """

    def __init__(self, tap: CountingStream) -> None:
        super().__init__()
        self._stream = pa.CompressedInputStream(pa.PythonFile(tap, mode="r"), "zstd")
        self._damage: str | None = None

    def _take(self, size: int) -> bytes:
        if self._damage is None:
            try:
                return bytes(self._stream.read(_STEP_BYTES if size < 0 else min(size, _STEP_BYTES)))
            except OSError as error:
                self._damage = str(error).lower()
        raise CorruptStream(f"zstd: {self._damage}")


class _Gzip(_Reading):
    """The decompressed bytes of a gzip stream with one member or several.

    The bytes before a damage are returned first.
    """

    def __init__(self, tap: CountingStream) -> None:
        super().__init__()
        self._tap = tap
        self._inflate = zlib.decompressobj(_GZIP)
        self._packed = b""
        self._damage: str | None = None

    def _take(self, size: int) -> bytes:
        while self._damage is None:
            packed = self._packed or self._tap.read(_PACKED_BYTES)
            if not packed:
                if self._inflate.eof:
                    return b""
                self._damage = "it ends too early"
                found = self._inflate.flush()
            else:
                found = self._unpack(packed, size)
            if found:
                return found
        raise CorruptStream(f"gzip: {self._damage}")

    def _unpack(self, packed: bytes, size: int) -> bytes:
        if self._inflate.eof:
            # After a member follows another one, or zero padding.
            self._packed = packed.lstrip(b"\0")
            self._inflate = zlib.decompressobj(_GZIP) if self._packed else self._inflate
            return b""
        before = self._inflate.copy()
        try:
            found = self._inflate.decompress(packed, max(size, 0))
        except zlib.error as error:
            self._damage = str(error).lower()
            return _salvage(before, packed)
        self._packed = self._inflate.unconsumed_tail or self._inflate.unused_data
        return found


def _salvage(inflate: zlib._Decompress, packed: bytes) -> bytes:
    """Decompress the bytes before the damage."""
    found = bytearray()
    try:
        for at in range(len(packed)):
            found += inflate.decompress(packed[at : at + 1])
    except zlib.error:
        pass
    return bytes(found)


_CODECS: dict[str, Callable[[CountingStream], _Reading]] = {"gzip": _Gzip, "zstd": _Zstd}


@contextmanager
def open_stream(
    source: Any, digest: hashlib._Hash | None = None
) -> Iterator[tuple[CountingStream, Stream]]:
    """Open an input: its raw stream, for positions, and its decompressed bytes."""
    opened = _open(source)
    try:
        tap = CountingStream(opened, digest)
        codec = codec_of(tap.peek(_MAGIC_LENGTH))
        yield tap, tap if codec is None else _CODECS[codec](tap)
    finally:
        if opened is not source:
            opened.close()


def stream_name(source: Any) -> str | None:
    """Return the name of an input for messages."""
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
        # A path with a NUL byte raises ValueError.
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise InvalidInput("file.unreadable", f"{str(source)!r} cannot be read: {why}") from error


def codec_of(first: bytes) -> str | None:
    """Return the compression that the first bytes of a stream identify."""
    return next((codec for magic, codec in _MAGIC.items() if first.startswith(magic)), None)
