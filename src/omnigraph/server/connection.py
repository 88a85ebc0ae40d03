"""Connections that are open without asking anything: they are given up after a while.

The framework waits for the headers of a request for as long as somebody sends a byte now and then;
enough of such connections would leave no room for others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio

__all__ = ["ImpatientProtocol"]


class ImpatientProtocol(HttpToolsProtocol):
    """Closes a connection whose next request does not have all its headers in time."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        super().connection_lost(exc)

    def on_headers_complete(self) -> None:
        self._wait_no_more()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # A request that came early has its headers already.
        if self.cycle.response_complete:
            self._wait()

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
