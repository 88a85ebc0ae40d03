"""Streams a request body to the engine: read by a thread, fed by the event loop."""

from __future__ import annotations

import asyncio
import queue
import threading
from typing import TYPE_CHECKING

from omnigraph.server.problems import HttpProblem

if TYPE_CHECKING:
    from omnigraph.server.exchange import Exchange

__all__ = ["RequestStream"]

_AHEAD = 8


class RequestStream:
    """A file for its reader. The sender waits while the reader is behind."""

    # The name of the source in messages about its records.
    name = "request body"

    def __init__(self) -> None:
        self._chunks: queue.SimpleQueue[bytes | HttpProblem] = queue.SimpleQueue()
        self._room = asyncio.Semaphore(_AHEAD)
        self._loop = asyncio.get_running_loop()
        self._left = b""
        self._ended: HttpProblem | None = None
        self._at_end = False
        self._closed = threading.Event()

    # --- called by the event loop --------------------------------------------------------------

    async def feed(self, exchange: Exchange, limit: int) -> None:
        """Pass the body on, chunk by chunk; the reader receives the errors of the sender."""
        try:
            async for chunk in exchange.chunks(limit):
                await self._room.acquire()
                if self._closed.is_set():
                    return
                self._chunks.put(chunk)
        except HttpProblem as problem:
            self._chunks.put(problem)
        except BaseException:
            self._chunks.put(
                HttpProblem(503, "server.stopping", "the body was not read completely")
            )
            raise
        else:
            self._chunks.put(b"")

    def close(self) -> None:
        """Stop: the reader has ended."""
        self._closed.set()
        self._room.release()

    # --- called by the reading thread ----------------------------------------------------------

    def read(self, size: int = -1, /) -> bytes:
        """Return up to ``size`` bytes, and nothing at the end."""
        if self._ended is not None:
            raise self._ended
        if self._at_end:
            return b""
        if not self._left:
            found = self._chunks.get()
            if isinstance(found, HttpProblem):
                self._ended = found
                raise found
            self._loop.call_soon_threadsafe(self._room.release)
            if not found:
                self._at_end = True
                return b""
            self._left = found
        if size < 0 or size >= len(self._left):
            taken, self._left = self._left, b""
        else:
            taken, self._left = self._left[:size], self._left[size:]
        return taken
