"""A counting proxy in front of an S3 endpoint, for all clients of a process.

Lance and the object client have separate connections, so only a proxy sees both. Bytes are
forwarded unchanged, so signatures stay valid.
"""

from __future__ import annotations

import socket
import threading
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from omnigraph.testing.s3 import S3Endpoint

__all__ = ["RequestLog", "counted"]

_HOST = "127.0.0.1"
_BLOCK = 65_536


@dataclass
class RequestLog:
    """The requests so far, as verb and path.

    LIST is a GET with a query for keys, and DELETE may be a POST with a list of keys.
    """

    requests: list[tuple[str, str]] = field(default_factory=list)

    def counts(self) -> Counter[str]:
        return Counter(verb for verb, _ in self.requests)

    def clear(self) -> None:
        self.requests.clear()

    def add(self, line: bytes) -> None:
        method, target, _ = line.decode("latin-1").split(" ", 2)
        parts = urlsplit(target)
        asked = parse_qs(parts.query, keep_blank_values=True)
        if method == "GET" and "list-type" in asked:
            method = "LIST"
        elif method == "POST" and "delete" in asked:
            method = "DELETE"
        self.requests.append((method, parts.path))


@contextmanager
def counted(endpoint: S3Endpoint) -> Iterator[tuple[S3Endpoint, RequestLog]]:
    """Serve the same endpoint on another port, and count its requests."""
    proxy = _Proxy(endpoint.port)
    proxy.start()
    try:
        yield replace(endpoint, port=proxy.port), proxy.log
    finally:
        proxy.stop()


class _Proxy:
    def __init__(self, upstream: int) -> None:
        self.log = RequestLog()
        self._upstream = upstream
        self._listener = socket.create_server((_HOST, 0))
        self.port = int(self._listener.getsockname()[1])
        self._sockets: list[socket.socket] = [self._listener]
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        self._run(self._accept)

    def stop(self) -> None:
        for open_socket in self._sockets:
            with suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for open_socket in self._sockets:
            open_socket.close()

    def _run(self, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # stopped
            server = socket.create_connection((_HOST, self._upstream))
            self._sockets += [client, server]
            for connection in (client, server):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._run(_pump, client, server, _Requests(self.log))
            self._run(_pump, server, client, None)


def _pump(source: socket.socket, sink: socket.socket, reader: _Requests | None) -> None:
    with suppress(OSError):
        while block := source.recv(_BLOCK):
            if reader is not None:
                reader.feed(block)
            sink.sendall(block)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


class _Requests:
    """Finds the request lines in the byte stream of one client."""

    def __init__(self, log: RequestLog) -> None:
        self._log = log
        self._buffer = b""
        # Remaining bytes of the current body.
        self._body = 0

    def feed(self, block: bytes) -> None:
        self._buffer += block
        while self._buffer:
            taken = min(self._body, len(self._buffer))
            self._buffer, self._body = self._buffer[taken:], self._body - taken
            head, mark, rest = self._buffer.partition(b"\r\n\r\n")
            if self._body or not mark:
                return
            self._buffer = rest
            self._begin(head)

    def _begin(self, head: bytes) -> None:
        line, *headers = head.split(b"\r\n")
        self._log.add(line)
        lengths = [
            int(value)
            for name, _, value in (header.partition(b":") for header in headers)
            if name.strip().lower() == b"content-length"
        ]
        self._body = lengths[0] if lengths else 0
