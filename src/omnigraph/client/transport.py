"""Sending requests and waiting for answers; the one that awaits is beside it."""

from __future__ import annotations

import json
import time
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

__all__ = [
    "Transport",
    "decoded",
    "httpx_arguments",
    "pause_after",
    "pause_for",
    "require_open",
    "session_headers",
]

# The server has seen nothing of a request that failed like this.
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)


def session_headers(token: str | None) -> dict[str, str]:
    said = {"User-Agent": f"omnigraph-py/{__version__}", "Accept": "application/json"}
    return {**said, "Authorization": f"Bearer {token}"} if token else said


def httpx_arguments(address: Address, patience: RetryPolicy) -> dict[str, Any]:
    """A request in the words of the library."""
    request = patience.request
    left = patience.left
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
        # A connection that is not made soon is not made; an answer may take all the time there is.
        "timeout": httpx.Timeout(left, connect=10.0 if left is None else min(left, 10.0)),
    }


def decoded(request: HttpRequest, response: httpx.Response, content: bytes) -> HttpResponse:
    """A success as an answer."""
    kind = response.headers.get("content-type", "").split(";")[0]
    if request.sink is None and kind == "application/json":
        return HttpResponse(json.loads(content), response.headers)
    return HttpResponse(content, response.headers)


def _refusal(response: httpx.Response, content: bytes) -> tuple[str, Any]:
    """The code of a refusal, and its error."""
    try:
        body = parse_json(content)
    except ValueError:
        body = None
    error = error_of(response.status_code, body, response.headers.get("x-request-id"))
    return error.code, error


def require_open(http: httpx.Client | httpx.AsyncClient) -> None:
    if http.is_closed:
        raise InvalidInput(
            "client.closed", "the connection to the server has been closed", remedy="connect again"
        )


class Transport:
    """A connection to a server, kept open. Thread-safe."""

    def __init__(self, token: str | None) -> None:
        self._http = httpx.Client(headers=session_headers(token), follow_redirects=False)

    def send(self, address: Address, request: HttpRequest, timeout: float | None) -> HttpResponse:
        """The answer, or the error of the last attempt."""
        patience = RetryPolicy.begin(request, timeout)
        while True:
            answer, pause = self._attempt(address, patience)
            if answer is not None:
                return answer
            time.sleep(pause)

    def close(self) -> None:
        self._http.close()

    def _attempt(
        self, address: Address, patience: RetryPolicy
    ) -> tuple[HttpResponse | None, float]:
        request = patience.request
        require_open(self._http)
        try:
            with self._http.stream(**httpx_arguments(address, patience)) as response:
                if not response.is_success:
                    return None, pause_for(patience, response, response.read())
                if request.sink is None:
                    return decoded(request, response, response.read()), 0.0
                patience.streaming = True
                for chunk in response.iter_bytes():
                    request.sink(chunk)
                return decoded(request, response, b""), 0.0
        except httpx.HTTPError as error:
            return None, pause_after(patience, address.uri, error)


def pause_for(patience: RetryPolicy, response: httpx.Response, content: bytes) -> float:
    code, error = _refusal(response, content)
    headers: Mapping[str, str] = response.headers
    pause = patience.after_refusal(response.status_code, code, headers)
    if pause is None:
        raise error
    return pause


def pause_after(patience: RetryPolicy, uri: str, error: httpx.HTTPError) -> float:
    sent = not isinstance(error, _NOT_SENT)
    pause = patience.after_failure(sent=sent)
    if pause is None:
        told = lost_reply(uri, patience.request, error) if sent else unreachable(uri, error)
        raise told from error
    return pause
