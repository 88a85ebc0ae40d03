"""Bounds of one connection, before authentication and before a request exists.

The HTTP framework reads the headers of a request for as long as bytes arrive, however many, closes
no connection that sends a byte now and then, and parses pipelined requests without a limit. This
protocol bounds the bytes that are not body (request line, headers, chunk sizes, trailers), the time
until the headers are complete, and the requests that wait behind the one that is answered.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio

    from omnigraph.server.settings import ServerLimits

__all__ = ["BoundedProtocol", "bounded_protocol"]

# A refused client may still be sending. Closing at once resets the connection and discards the
# response with it, so a little more is read and discarded.
_LINGER_SECONDS = 2.0
_LINGER_BYTES = 2**20
# The parser cannot be stopped within a slice, so a slice holds few requests.
_SLICE_BYTES = 4 * 2**10
_STATUS_LINES = {400: "400 Bad Request", 431: "431 Request Header Fields Too Large"}


def bounded_protocol(limits: ServerLimits) -> type[BoundedProtocol]:
    """Return the protocol class with the limits of one server."""
    return type("BoundedProtocol", (BoundedProtocol,), {"limits": limits})


class _Flow(FlowControl):
    """Leaves bytes in the socket while the backlog is not empty, whoever resumes reading."""

    held = False

    def resume_reading(self) -> None:
        if not self.held:
            super().resume_reading()


class BoundedProtocol(HttpToolsProtocol):
    """Closes connections that send too many header bytes, or too slowly."""

    limits: ServerLimits
    flow: _Flow
    _waiting: asyncio.TimerHandle | None = None
    _draining: asyncio.TimerHandle | None = None
    _refused = False
    # The response to a refused request, while requests before it are being answered.
    _refusal = b""
    # Bytes that wait to be parsed: at most one read of the socket.
    _backlog = b""
    # Whether the parser is between the first byte of a request and the end of its headers.
    _in_head = True
    _header_count = 0
    # Bytes since the last body byte or the last complete head.
    _overhead = 0

    # --- the connection ------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.flow = _Flow(transport)
        if len(self.connections) > self.limits.connections_max:
            transport.abort()
            return
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        self._watch_no_more()
        self._backlog = b""
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Feed the parser in slices, so that a limit is checked before it can be exceeded."""
        if self._refused:
            self._discard(data)
            return
        limit = self.limits.header_bytes_max
        rest = memoryview(self._backlog + data if self._backlog else data)
        while rest and not self._is_done() and not self._is_full():
            size = min(limit - self._overhead, _SLICE_BYTES)
            piece, rest = rest[:size], rest[size:]
            self._overhead += len(piece)
            super().data_received(bytes(piece))
            if self._is_done():
                return
            if self._header_count > self.limits.headers_max:
                self._refuse_headers("request.too_many_headers", self.limits.headers_max)
            elif self._overhead >= limit:
                self._refuse_headers("request.headers_too_large", limit)
        self._hold(bytes(rest))

    def _is_full(self) -> bool:
        return len(self.pipeline) >= self.limits.pipelined_requests_max

    def _hold(self, rest: bytes) -> None:
        """Keep bytes until the previous requests are answered."""
        self._backlog = rest
        self.flow.held = bool(rest)
        if rest:
            self.flow.pause_reading()

    def _discard(self, data: bytes) -> None:
        self._overhead += len(data)
        if self._overhead > _LINGER_BYTES:
            self.transport.abort()

    def _is_done(self) -> bool:
        return self._refused or self.transport.is_closing()

    # --- writing -------------------------------------------------------------------------------

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_writes()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.transport.is_closing():
            self._watch_no_more()

    def eof_received(self) -> None:
        # The transport closes itself after this, as soon as the client has taken what is left.
        self._watch_writes()

    def shutdown(self) -> None:
        super().shutdown()
        self._watch_writes()

    def _watch_writes(self) -> None:
        """Abort the connection if the client does not take what waits for it."""
        if self._draining is None:
            size = self.transport.get_write_buffer_size()
            self._draining = self.loop.call_later(
                self.limits.drain_seconds_max, self._require_progress, size
            )

    def _watch_no_more(self) -> None:
        if self._draining is not None:
            self._draining.cancel()
            self._draining = None

    def _require_progress(self, before: int) -> None:
        """A response in memory must shrink, and neither stay nor trickle away."""
        self._draining = None
        least = int(self.limits.drain_seconds_max * self.limits.drain_bytes_per_second_min)
        left = self.transport.get_write_buffer_size()
        if not left:
            return
        if left > before - least:
            self.transport.abort()
        else:
            self._watch_writes()

    # --- refusing ------------------------------------------------------------------------------

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the framework's name for it
        """Refuse a request that the parser rejects."""
        self._refuse(
            400,
            "request.malformed",
            "the request is not well-formed HTTP",
            "send one plain HTTP request at a time, framed by Content-Length or as chunks",
        )

    def _refuse_headers(self, reason: str, limit: int) -> None:
        unit = "headers" if reason.endswith("headers") else "bytes of headers"
        self._refuse(
            431,
            reason,
            f"the request has more than {limit:,} {unit}",
            "send fewer and shorter headers",
        )

    def _refuse(self, status: int, reason: str, message: str, remedy: str) -> None:
        """Answer the previous requests, refuse this one, and close the connection."""
        if self._refused:
            return
        self._refused = True
        self._wait_no_more()
        self._hold(b"")
        self._refusal = _problem(status, reason, message, remedy)
        self._drop_incomplete()
        if self._is_idle():
            self._send_refusal()

    def _drop_incomplete(self) -> None:
        """Abort the request whose body is being refused; its operation sees a disconnect."""
        cycle: Any = self.cycle
        if cycle is None or not cycle.more_body:
            return
        if self.pipeline and self.pipeline[0][0] is cycle:
            self.pipeline.popleft()
            return
        if cycle.response_started:
            # Its response is under way, and nothing can follow it.
            self._refusal = b""
        cycle.disconnected = True
        cycle.message_event.set()

    def _send_refusal(self) -> None:
        if self.transport.is_closing():
            return
        self.transport.write(self._refusal)
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(_LINGER_SECONDS, self.transport.abort)

    def _is_idle(self) -> bool:
        """Whether no response is awaited."""
        cycle: Any = self.cycle
        if self.pipeline:
            return False
        return cycle is None or bool(cycle.response_complete or cycle.disconnected)

    # --- the parser ----------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._in_head = True
        self._header_count = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_count += 1
        # Trailers are counted and dropped: no operation uses any, and the request is running.
        if self._in_head and self._header_count <= self.limits.headers_max:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._refused:
            return
        self._wait_no_more()
        self._in_head = False
        if self._header_count > self.limits.headers_max:
            self._refuse_headers("request.too_many_headers", self.limits.headers_max)
            return
        if not self._is_framing_plain():
            self._refuse(
                400,
                "request.transfer_encoding",
                "the only transfer coding is `chunked`, with HTTP/1.1",
                "send the body as one chunked stream or with a Content-Length",
            )
            return
        upgrade = self.parser.should_upgrade()
        if upgrade and self._has_body():
            self._refuse(
                400,
                "request.upgrade",
                "a request to upgrade the connection cannot have a body",
                "send the request without an Upgrade header",
            )
            return
        self._overhead = 0
        self._take_host_of_target()
        super().on_headers_complete()
        if upgrade:
            # The parser ignores what follows.
            self.cycle.keep_alive = False

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
        if self.transport.is_closing():
            self._watch_writes()
        if self._refused:
            if self._is_idle():
                self._send_refusal()
            return
        if self._backlog and not self._is_full():
            # Not from within the response: the parser may begin the next one.
            self.loop.call_soon(self._resume_parsing)
        # A pipelined request has its headers already.
        if self.cycle.response_complete:
            self._wait()

    def _resume_parsing(self) -> None:
        """Parse the backlog."""
        if self._backlog and not self._is_done():
            self.data_received(b"")
            if not self._backlog:
                self.flow.resume_reading()

    def _is_framing_plain(self) -> bool:
        """Whether every server on the way finds the same end of the body (RFC 9112, 6.1)."""
        codings = [value for name, value in self.headers if name == b"transfer-encoding"]
        if not codings:
            return True
        chunked = len(codings) == 1 and codings[0].strip().lower() == b"chunked"
        return chunked and self.parser.get_http_version() == "1.1"

    def _has_body(self) -> bool:
        return any(
            name == b"transfer-encoding" or (name == b"content-length" and value.strip(b" \t0"))
            for name, value in self.headers
        )

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
        # As long as the keep-alive timeout, which is part of this wait.
        self._waiting = self.loop.call_later(self.timeout_keep_alive, self._give_up)

    def _wait_no_more(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
            self._watch_writes()


def _problem(status: int, reason: str, message: str, remedy: str) -> bytes:
    body = json.dumps(
        {"error": message, "code": "bad_request", "reason": reason, "remedy": remedy}
    ).encode()
    head = (
        f"HTTP/1.1 {_STATUS_LINES[status]}\r\n"
        "content-type: application/json\r\n"
        f"content-length: {len(body)}\r\n"
        "connection: close\r\n\r\n"
    )
    return head.encode("ascii") + body
