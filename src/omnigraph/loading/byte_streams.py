"""Bytes of an input, whatever it is: a path, an open file or bytes; plain, gzip or zstd."""

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

# Compression is told by the first bytes; names lie.
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_MAGIC_LENGTH = 4
_PACKED_BYTES = 256 * 2**10
_STEP_BYTES = 64 * 2**10
# How zlib is told that there is the header of gzip around what it unpacks.
_GZIP = 16 + zlib.MAX_WBITS


class CorruptStream(Exception):
    """The bytes end or go wrong in the middle."""


class Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Reading(io.RawIOBase):
    """Gives as much as is asked for, though what it reads from may give less at a time."""

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
            # What stands before the damage counts; asked again, it is told.
            pass
        return bytes(found)

    def _take(self, size: int) -> bytes:
        raise NotImplementedError


class CountingStream(_Reading):
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


class _Zstd(_Reading):
    """The bytes of a stream that zstd has packed.

    In small steps: of a step that fails nothing is had, and the records before the damage count.
    """

    def __init__(self, tap: CountingStream) -> None:
        super().__init__()
        self._stream = pa.CompressedInputStream(pa.PythonFile(tap, mode="r"), "zstd")
        self._trouble: str | None = None

    def _take(self, size: int) -> bytes:
        if self._trouble is None:
            try:
                return bytes(self._stream.read(_STEP_BYTES if size < 0 else min(size, _STEP_BYTES)))
            except OSError as error:
                self._trouble = str(error).lower()
        raise CorruptStream(f"zstd: {self._trouble}")


class _Gzip(_Reading):
    """The bytes of a stream that gzip has packed, in one member or several.

    What can be unpacked before the damage is given first.
    """

    def __init__(self, tap: CountingStream) -> None:
        super().__init__()
        self._tap = tap
        self._inflate = zlib.decompressobj(_GZIP)
        self._packed = b""
        self._trouble: str | None = None

    def _take(self, size: int) -> bytes:
        while self._trouble is None:
            packed = self._packed or self._tap.read(_PACKED_BYTES)
            if not packed:
                if self._inflate.eof:
                    return b""
                self._trouble = "it ends too early"
                found = self._inflate.flush()
            else:
                found = self._unpack(packed, size)
            if found:
                return found
        raise CorruptStream(f"gzip: {self._trouble}")

    def _unpack(self, packed: bytes, size: int) -> bytes:
        if self._inflate.eof:
            # Behind a member stands another one, or zeros that fill up a block.
            self._packed = packed.lstrip(b"\0")
            self._inflate = zlib.decompressobj(_GZIP) if self._packed else self._inflate
            return b""
        before = self._inflate.copy()
        try:
            found = self._inflate.decompress(packed, max(size, 0))
        except zlib.error as error:
            self._trouble = str(error).lower()
            return _salvage(before, packed)
        self._packed = self._inflate.unconsumed_tail or self._inflate.unused_data
        return found


def _salvage(inflate: zlib._Decompress, packed: bytes) -> bytes:
    """What can be unpacked before the damage."""
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
    """The tap of an input, for its position, and its bytes without compression."""
    opened = _open(source)
    try:
        tap = CountingStream(opened, digest)
        codec = codec_of(tap.peek(_MAGIC_LENGTH))
        yield tap, tap if codec is None else _CODECS[codec](tap)
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


def codec_of(first: bytes) -> str | None:
    """Return the compression that the first bytes of a stream identify."""
    return next((codec for magic, codec in _MAGIC.items() if first.startswith(magic)), None)
