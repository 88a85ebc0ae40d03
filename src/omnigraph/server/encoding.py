"""Compressed request bodies, bounded by their decompressed size.

Only loads accept them, as ``Content-Encoding: gzip`` or ``zstd`` or recognised by their first
bytes. The limit is enforced during decompression; the ratio does not matter.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from omnigraph.loading.byte_streams import codec_of, open_stream
from omnigraph.server.problems import HttpProblem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.loading.byte_streams import Stream
    from omnigraph.server.exchange import Exchange
    from omnigraph.server.request_stream import RequestStream

__all__ = ["DecodedBody", "decoded", "require_no_encoding", "required_encoding"]

_STEP_BYTES = 64 * 2**10
_NAMES = {"gzip": "gzip", "x-gzip": "gzip", "zstd": "zstd"}


def required_encoding(exchange: Exchange) -> str | None:
    """Return the codec that a load's Content-Encoding names; 415 for an unknown or nested one."""
    given = _given(exchange)
    if given in ("", "identity"):
        return None
    if given not in _NAMES:
        raise _refused(given, "gzip, zstd")
    return _NAMES[given]


def require_no_encoding(exchange: Exchange) -> None:
    """415 for a compressed body of an operation that takes JSON."""
    given = _given(exchange)
    if given not in ("", "identity"):
        raise _refused(given, "identity")


def _given(exchange: Exchange) -> str:
    return (exchange.header("Content-Encoding") or "").lower()


def _refused(given: str, accepted: str) -> HttpProblem:
    return HttpProblem(
        415,
        "request.content_encoding",
        f"the content encoding {given[:80]!r} is not supported",
        remedy=f"use one of: {accepted}",
        headers={"Accept-Encoding": accepted},
    )


@contextmanager
def decoded(body: RequestStream, codec: str | None, limit: int) -> Iterator[DecodedBody]:
    """Decompress a body while it is read."""
    with open_stream(body) as (tap, stream):
        if codec is not None and codec_of(tap.peek(4)) != codec:
            raise HttpProblem(400, "request.bad_encoding", f"the body is not valid {codec} data")
        yield DecodedBody(stream, limit, name=body.name)


class DecodedBody:
    """A file of at most ``limit`` bytes; reading more of them fails with 413."""

    def __init__(self, stream: Stream, limit: int, *, name: str) -> None:
        self.name = name
        self._stream = stream
        self._limit = limit
        self._count = 0

    def read(self, size: int = -1, /) -> bytes:
        """Return up to ``size`` bytes, and nothing at the end."""
        found = self._stream.read(_STEP_BYTES if size < 0 else min(size, _STEP_BYTES))
        if self._count == 0 and codec_of(found[:4]) is not None:
            # The loader would decompress it again, beyond this limit.
            raise HttpProblem(
                415, "request.content_encoding", "the body is compressed more than once"
            )
        self._count += len(found)
        if self._count > self._limit:
            raise HttpProblem(
                413,
                "request.too_large",
                f"the decompressed body exceeds {self._limit:,} bytes",
                more={
                    "resource_limit": {
                        "name": "request_bytes",
                        "limit": self._limit,
                        "actual": self._count,
                    }
                },
            )
        return found
