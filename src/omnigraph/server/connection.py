"""Bounds of one connection, before authentication and before a request exists.

The HTTP framework reads the headers of a request for as long as bytes arrive, however many, and
closes no connection that sends a byte now and then. This protocol bounds both: the bytes that are
not body (request line, headers, chunk sizes, trailers), and the time until the headers are
complete.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio

    from omnigraph.server.settings import ServerLimits

__all__ = ["BoundedProtocol", "bounded_protocol"]

# A refused client may still be sending. Closing at once resets the connection and discards the
# response with it, so a little more is read and discarded.
_LINGER_SECONDS = 2.0
_LINGER_BYTES = 2**20


def bounded_protocol(limits: ServerLimits) -> type[BoundedProtocol]:
    """Return the protocol class with the limits of one server."""
    return type("BoundedProtocol", (BoundedProtocol,), {"limits": limits})


class BoundedProtocol(HttpToolsProtocol):
    """Closes connections that send too many header bytes, or too slowly."""

    limits: ServerLimits
    _waiting: asyncio.TimerHandle | None = None
    _refused = False
    # Whether the parser is between the first byte of a request and the end of its headers.
    _in_head = True
    _header_count = 0
    # Bytes since the last body byte or the last complete head.
    _overhead = 0

    # --- the connection ------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections_max:
            transport.abort()
            return
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Feed the parser in pieces that cannot exceed the limit before it is checked."""
        if self._refused:
            self._discard(data)
            return
        limit = self.limits.header_bytes_max
        rest = memoryview(data)
        while rest and not self._is_done():
            piece, rest = rest[: limit - self._overhead], rest[limit - self._overhead :]
            self._overhead += len(piece)
            super().data_received(bytes(piece))
            if self._is_done():
                return
            if self._header_count > self.limits.headers_max:
                self._refuse("request.too_many_headers", self.limits.headers_max)
            elif self._overhead >= limit:
                self._refuse("request.headers_too_large", limit)
            elif len(self.pipeline) > self.limits.pipelined_requests_max:
                # Reading is paused, but what has arrived already is parsed.
                self.transport.abort()

    def _is_idle(self) -> bool:
        """Whether no response is being written."""
        cycle: Any = self.cycle
        return cycle is None or bool(cycle.response_complete)

    def _discard(self, data: bytes) -> None:
        self._overhead += len(data)
        if self._overhead > _LINGER_BYTES:
            self.transport.abort()

    def _is_done(self) -> bool:
        return self._refused or self.transport.is_closing()

    def _refuse(self, reason: str, limit: int) -> None:
        self._refused = True
        self._wait_no_more()
        unit = "headers" if reason.endswith("headers") else "bytes of headers"
        if self._is_idle():
            self.transport.write(_response_431(reason, f"more than {limit:,} {unit}"))
            if self.transport.can_write_eof():
                self.transport.write_eof()
        self.loop.call_later(_LINGER_SECONDS, self.transport.abort)

    # --- the parser ----------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._in_head = True
        self._header_count = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_count += 1
        # Trailers are counted and dropped: no operation has any, and the request is running.
        if self._in_head and self._header_count <= self.limits.headers_max:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._wait_no_more()
        self._in_head = False
        if self._header_count > self.limits.headers_max:
            self._refuse("request.too_many_headers", self.limits.headers_max)
            return
        self._overhead = 0
        self._take_host_of_target()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self._refused:
            self._overhead = 0
            super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._refused:
            self._overhead = 0
            super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # A pipelined request has its headers already.
        if self.cycle.response_complete and not self._refused:
            self._wait()

    def _take_host_of_target(self) -> None:
        """The authority of an absolute target replaces the Host header (RFC 9112, 3.2.2)."""
        if self.url.startswith(b"/") or b"://" not in self.url:
            return
        authority = self.url.partition(b"://")[2].partition(b"/")[0].partition(b"?")[0]
        self.headers[:] = [each for each in self.headers if each[0] != b"host"]
        self.headers.append((b"host", authority))

    # --- waiting for headers -------------------------------------------------------------------

    def _wait(self) -> None:
        self._wait_no_more()
        # As long as a connection may be idle: that wait is part of this one.
        self._waiting = self.loop.call_later(self.timeout_keep_alive, self._give_up)

    def _wait_no_more(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()


def _response_431(reason: str, message: str) -> bytes:
    body = json.dumps(
        {
            "error": f"the request has {message}",
            "code": "bad_request",
            "reason": reason,
            "remedy": "send fewer and shorter headers",
        }
    ).encode()
    head = (
        "HTTP/1.1 431 Request Header Fields Too Large\r\n"
        "content-type: application/json\r\n"
        f"content-length: {len(body)}\r\n"
        "connection: close\r\n\r\n"
    )
    return head.encode("ascii") + body
