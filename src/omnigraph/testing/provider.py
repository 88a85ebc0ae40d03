"""A provider of embeddings on loopback that answers as a test wants, badly if need be."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from omnigraph.adapters.embedders.mock import MockEmbedder
from omnigraph.frozen import frozen
from omnigraph.ports.embeddings import EmbeddingTask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["FakeProvider", "Reply", "fake_provider", "vectors_of"]


@frozen
class Reply:
    """A response. ``hang`` seconds pass before it."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    hang: float = 0.0


@dataclass
class FakeProvider:
    """The requests so far, and the function that answers the next one."""

    url: str
    answer: Callable[[dict[str, Any], int], Reply]
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    running: int = 0
    running_max: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def texts(self) -> list[str]:
        return [text for request in self.requests for text in request["input"]]


def vectors_of(body: dict[str, Any], dim: int = 3) -> dict[str, Any]:
    """Return a correct body of OpenAI's format."""
    vectors = MockEmbedder().embed(
        body["input"], model=body["model"], dim=dim, task=EmbeddingTask.DOCUMENT
    )
    data = [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    return {"object": "list", "data": data, "model": body["model"]}


@contextmanager
def fake_provider(
    answer: Callable[[dict[str, Any], int], Reply] = lambda body, _: Reply(body=vectors_of(body)),
) -> Iterator[FakeProvider]:
    """Serve; ``answer`` gets the body and the number of the request, from 0."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            body = json.loads(content)
            with provider.lock:
                number = len(provider.requests)
                provider.requests.append(body)
                provider.headers.append({k.lower(): v for k, v in self.headers.items()})
                provider.paths.append(self.path)
                provider.running += 1
                provider.running_max = max(provider.running_max, provider.running)
            reply = provider.answer(body, number)
            if reply.hang:
                provider.released.wait(reply.hang)
            with provider.lock:
                provider.running -= 1
            self._send(reply)

        def _send(self, reply: Reply) -> None:
            raw = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            try:
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)
            except OSError:
                # The client did not wait.
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    provider = FakeProvider(f"http://127.0.0.1:{server.server_address[1]}/v1", answer)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        provider.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
