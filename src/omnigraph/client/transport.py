"""Sends requests over HTTP, asynchronously or blocking."""

from __future__ import annotations

import asyncio
import json
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import httpx

from omnigraph import __version__
from omnigraph.client.failures import error_of
from omnigraph.client.requests import HttpResponse
from omnigraph.client.retries import RetryPolicy, lost_reply, unreachable
from omnigraph.errors import InvalidInput
from omnigraph.runtime.json_text import parse_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.client.address import Address
    from omnigraph.client.requests import HttpRequest

__all__ = ["AsyncTransport", "BlockingTransport", "Transport", "httpx_arguments"]

# After one of these failures, the server has not received the request.
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)


def _session_headers(token: str | None) -> dict[str, str]:
    said = {"User-Agent": f"omnigraph-py/{__version__}", "Accept": "application/json"}
    return {**said, "Authorization": f"Bearer {token}"} if token else said


def httpx_arguments(address: Address, policy: RetryPolicy) -> dict[str, Any]:
    """Return the arguments of httpx for a request."""
    request = policy.request
    left = policy.left
    headers = dict(request.headers)
    if left is not None and not request.flat:
        headers["Omnigraph-Deadline-Ms"] = str(max(1, int(left * 1000)))
    content = request.content
    if request.json is not None:
        headers.setdefault("Content-Type", "application/json")
        content = json.dumps(request.json, ensure_ascii=False).encode()
    prefix = "" if request.flat else address.prefix
    return {
        "method": request.method,
        "url": f"{address.root}{prefix}{request.path}",
        "params": list(request.query),
        "content": content,
        "headers": headers,
        # A connection is established soon or not at all; a response may take the whole timeout.
        "timeout": httpx.Timeout(left, connect=10.0 if left is None else min(left, 10.0)),
    }


def _decoded(request: HttpRequest, response: httpx.Response, content: bytes) -> HttpResponse:
    """Decode a successful response."""
    kind = response.headers.get("content-type", "").split(";")[0]
    if request.sink is None and kind == "application/json":
        return HttpResponse(json.loads(content), response.headers)
    return HttpResponse(content, response.headers)


def _refusal(response: httpx.Response, content: bytes) -> tuple[str, Any]:
    """Return the code of a refusal, and its error."""
    try:
        body = parse_json(content)
    except ValueError:
        body = None
    error = error_of(response.status_code, body, response.headers.get("x-request-id"))
    return error.code, error


def _require_open(http: httpx.Client | httpx.AsyncClient) -> None:
    if http.is_closed:
        raise InvalidInput(
            "client.closed", "the connection to the server is closed", remedy="connect again"
        )


class Transport(ABC):
    """A connection pool to a server. Sends requests, and retries them as ``retries`` permits."""

    async def send(
        self, address: Address, request: HttpRequest, timeout: float | None
    ) -> HttpResponse:
        """Return the response, or raise the error of the last attempt."""
        policy = RetryPolicy.begin(request, timeout)
        while True:
            try:
                outcome = await self._send_once(httpx_arguments(address, policy), policy)
            except httpx.HTTPError as error:
                outcome = _pause_after(policy, address.uri, error)
            if isinstance(outcome, HttpResponse):
                return outcome
            await self._sleep(outcome)

    @abstractmethod
    async def close(self) -> None:
        """Close the connection. Idempotent."""

    @abstractmethod
    async def _sleep(self, seconds: float) -> None: ...

    @abstractmethod
    async def _send_once(
        self, arguments: dict[str, Any], policy: RetryPolicy
    ) -> HttpResponse | float:
        """Send a request once: return a response, or the seconds until the next attempt."""


class AsyncTransport(Transport):
    """A transport for one event loop."""

    def __init__(self, token: str | None) -> None:
        self._http = httpx.AsyncClient(headers=_session_headers(token), follow_redirects=False)

    async def close(self) -> None:
        await self._http.aclose()

    async def _sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _send_once(
        self, arguments: dict[str, Any], policy: RetryPolicy
    ) -> HttpResponse | float:
        _require_open(self._http)
        async with self._http.stream(**arguments) as response:
            if not response.is_success:
                return _pause_for(policy, response, await response.aread())
            if policy.request.sink is None:
                return _decoded(policy.request, response, await response.aread())
            policy.streaming = True
            async for chunk in response.aiter_bytes():
                policy.request.sink(chunk)
            return _decoded(policy.request, response, b"")


class BlockingTransport(Transport):
    """A transport whose coroutines block and never suspend. Thread-safe."""

    def __init__(self, token: str | None) -> None:
        self._http = httpx.Client(headers=_session_headers(token), follow_redirects=False)

    async def close(self) -> None:
        self._http.close()

    async def _sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    async def _send_once(
        self, arguments: dict[str, Any], policy: RetryPolicy
    ) -> HttpResponse | float:
        _require_open(self._http)
        with self._http.stream(**arguments) as response:
            if not response.is_success:
                return _pause_for(policy, response, response.read())
            if policy.request.sink is None:
                return _decoded(policy.request, response, response.read())
            policy.streaming = True
            for chunk in response.iter_bytes():
                policy.request.sink(chunk)
            return _decoded(policy.request, response, b"")


def _pause_for(policy: RetryPolicy, response: httpx.Response, content: bytes) -> float:
    code, error = _refusal(response, content)
    headers: Mapping[str, str] = response.headers
    pause = policy.after_refusal(response.status_code, code, headers)
    if pause is None:
        raise error
    return pause


def _pause_after(policy: RetryPolicy, uri: str, error: httpx.HTTPError) -> float:
    sent = not isinstance(error, _NOT_SENT)
    pause = policy.after_failure(sent=sent)
    if pause is None:
        failure = lost_reply(uri, policy.request, error) if sent else unreachable(uri, error)
        raise failure from error
    return pause
