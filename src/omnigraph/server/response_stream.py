"""Streams a response from the engine: written by a thread, sent by the event loop.

The first chunk decides the status: a failure before it is an ordinary error. A later failure breaks
the stream off, so that the client detects that it is incomplete.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import TYPE_CHECKING

from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from starlette.types import Receive, Scope, Send

    from omnigraph.server.pools import Pool
    from omnigraph.server.settings import ServerLimits

__all__ = ["ClientDisconnected", "ResponseStream", "StreamResponse", "stream"]

_log = logging.getLogger("omnigraph.server")


class ClientDisconnected(Exception):
    """The client has disconnected; raised in the thread that writes the stream."""


class ResponseStream:
    """A file for its writer. The writer waits while the client is behind."""

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._room = threading.Semaphore(limits.chunks_ahead)
        self._abandoned = False

    # --- called by the writing thread ----------------------------------------------------------

    def write(self, data: bytes | memoryview) -> int:
        """Pass bytes on, in chunks of a bounded size."""
        view = memoryview(data)
        for start in range(0, len(view), self._limits.chunk_bytes):
            self._room.acquire()
            if self._abandoned:
                # After a disconnect nothing drains the queue, so the next write must not wait.
                self._room.release()
                raise ClientDisconnected
            chunk = bytes(view[start : start + self._limits.chunk_bytes])
            self._loop.call_soon_threadsafe(self._chunks.put_nowait, chunk)
        return len(view)

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._chunks.put_nowait, None)

    # --- called by the event loop --------------------------------------------------------------

    async def take(self) -> bytes | None:
        """Return the next chunk; None at the end."""
        chunk = await self._chunks.get()
        if chunk is not None:
            self._room.release()
        return chunk

    def abandon(self) -> None:
        """Abandon the stream: the writer stops at its next chunk, the reader at once."""
        self._abandoned = True
        self._room.release()
        self._chunks.put_nowait(None)


async def stream(
    pool: Pool,
    limits: ServerLimits,
    work: Callable[[ResponseStream], None],
    *,
    media_type: str,
    headers: Mapping[str, str] | None = None,
    status: int = 200,
) -> Response:
    """Start to stream the output of ``work``. Errors before its first chunk are raised here."""
    outflow = ResponseStream(limits)

    def run() -> None:
        try:
            work(outflow)
        except ClientDisconnected:
            return
        finally:
            outflow.end()

    writing = pool.start(run)
    try:
        first = await outflow.take()
    except asyncio.CancelledError:
        outflow.abandon()
        raise
    if first is None:
        await writing
    answer = StreamResponse(_chunks(first, outflow), outflow, writing, limits)
    answer.status_code, answer.media_type = status, media_type
    answer.init_headers(headers)
    return answer


async def _chunks(first: bytes | None, outflow: ResponseStream) -> AsyncIterator[bytes]:
    chunk = first
    while chunk is not None:
        yield chunk
        chunk = await outflow.take()


class StreamResponse(Response):
    """A response that is sent as fast as the client receives it."""

    def __init__(
        self,
        chunks: AsyncIterator[bytes],
        outflow: ResponseStream,
        writing: asyncio.Future[None],
        limits: ServerLimits,
    ) -> None:
        self.background = None
        self._chunks = chunks
        self._outflow = outflow
        self._writing = writing
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - as ASGI calls it
        start = {
            "type": "http.response.start",
            "status": self.status_code,
            "headers": self.raw_headers,
        }
        # Sending to a closed socket raises no error; receiving from it does.
        gone = asyncio.ensure_future(_until_gone(receive))
        gone.add_done_callback(lambda _: self._outflow.abandon())
        try:
            await send(start)
            async for chunk in self._chunks:
                async with asyncio.timeout(self._limits.drain_seconds_max):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
            if not gone.done() and await self._is_complete():
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except (OSError, TimeoutError):
            # Returning without the end of the body makes the framework close the connection.
            return
        finally:
            gone.cancel()
            self._outflow.abandon()

    async def _is_complete(self) -> bool:
        try:
            await self._writing
        except Exception:  # noqa: BLE001 - whatever it was, the stream is cut
            _log.exception("a stream was aborted")
            return False
        return True


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
