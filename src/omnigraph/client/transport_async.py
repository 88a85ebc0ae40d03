"""Sending requests and awaiting answers, by the same rules as ``transport``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import httpx

from omnigraph.client.retries import RetryPolicy
from omnigraph.client.transport import (
    decoded,
    httpx_arguments,
    pause_after,
    pause_for,
    require_open,
    session_headers,
)

if TYPE_CHECKING:
    from omnigraph.client.address import Address
    from omnigraph.client.requests import HttpRequest, HttpResponse

__all__ = ["AsyncTransport"]


class AsyncTransport:
    """A connection to a server, kept open, for one event loop."""

    def __init__(self, token: str | None) -> None:
        self._http = httpx.AsyncClient(headers=session_headers(token), follow_redirects=False)

    async def send(
        self, address: Address, request: HttpRequest, timeout: float | None
    ) -> HttpResponse:
        """The answer, or the error of the last attempt."""
        patience = RetryPolicy.begin(request, timeout)
        while True:
            answer, pause = await self._attempt(address, patience)
            if answer is not None:
                return answer
            await asyncio.sleep(pause)

    async def close(self) -> None:
        await self._http.aclose()

    async def _attempt(
        self, address: Address, patience: RetryPolicy
    ) -> tuple[HttpResponse | None, float]:
        request = patience.request
        require_open(self._http)
        try:
            async with self._http.stream(**httpx_arguments(address, patience)) as response:
                if not response.is_success:
                    return None, pause_for(patience, response, await response.aread())
                if request.sink is None:
                    return decoded(request, response, await response.aread()), 0.0
                patience.streaming = True
                async for chunk in response.aiter_bytes():
                    request.sink(chunk)
                return decoded(request, response, b""), 0.0
        except httpx.HTTPError as error:
            return None, pause_after(patience, address.uri, error)
