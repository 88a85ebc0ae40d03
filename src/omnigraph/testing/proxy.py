"""A proxy in front of the S3 endpoint that counts requests and can lose a reply.

Lance has its own connections to the bucket, so a proxy is the only place to observe them. After a
lost reply, the server has executed the request and the client sees a broken connection.
"""

from __future__ import annotations

import http.client
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit

from omnigraph.frozen import frozen
from omnigraph.testing.s3 import S3Endpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["S3Proxy", "S3Request", "start_proxy"]

_HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding"})


@frozen
class S3Request:
    """A request: GET, PUT, LIST, DELETE, HEAD or POST, with its key (or prefix)."""

    verb: str
    key: str


class S3Proxy:
    """The recorded requests, and the replies to lose."""

    def __init__(self, endpoint: S3Endpoint) -> None:
        self.endpoint = endpoint
        self.log: list[S3Request] = []
        self._lose: list[Callable[[S3Request], bool]] = []
        self._lock = Lock()

    @property
    def counts(self) -> Counter[str]:
        """Return the number of requests by verb."""
        return Counter(request.verb for request in self.log)

    def reset(self) -> None:
        self.log.clear()

    def lose_reply(self, chosen: Callable[[S3Request], bool]) -> None:
        """Execute the next matching request, then close the connection without a reply."""
        with self._lock:
            self._lose.append(chosen)

    def seen(self, request: S3Request) -> bool:
        """Record a request; return whether its reply is lost."""
        with self._lock:
            self.log.append(request)
            for index, chosen in enumerate(self._lose):
                if chosen(request):
                    del self._lose[index]
                    return True
        return False


@contextmanager
def start_proxy(endpoint: S3Endpoint) -> Iterator[S3Proxy]:
    """Run a proxy; clients use ``proxy.endpoint``."""

    class Handler(_Handler):
        upstream_port = endpoint.port

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    Handler.proxy = proxy = S3Proxy(S3Endpoint(server.server_address[1], endpoint.bucket))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    """Forwards a request unchanged: its signature covers the Host header."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 2**16
    proxy: S3Proxy
    upstream_port: int

    def _pass_on(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else None
        lost = self.proxy.seen(self._request())
        upstream = http.client.HTTPConnection("127.0.0.1", self.upstream_port, timeout=30)
        try:
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in _HOP_BY_HOP:
                    upstream.putheader(name, value)
            upstream.endheaders(body)
            answer = upstream.getresponse()
            content = answer.read()
        finally:
            upstream.close()
        if lost:
            self.close_connection = True
            return
        self._send_response(answer, content)

    def _send_response(self, answer: http.client.HTTPResponse, content: bytes) -> None:
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in _HOP_BY_HOP and name.lower() != "content-length":
                self.send_header(name, value)
        length = answer.getheader("Content-Length") if self.command == "HEAD" else None
        self.send_header("Content-Length", length or str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _request(self) -> S3Request:
        parts = urlsplit(self.path)
        query = parse_qs(parts.query, keep_blank_values=True)
        if self.command == "GET" and "list-type" in query:
            return S3Request("LIST", query.get("prefix", [""])[0])
        _, _, key = unquote(parts.path).lstrip("/").partition("/")
        return S3Request(self.command, key)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Suppress the access log of the standard library."""

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _pass_on  # noqa: N815 - the protocol's names
