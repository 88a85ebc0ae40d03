"""A connection to one graph of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.client.graph_selection import find_graph
from omnigraph.client.requests import get, post

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.client.address import Address
    from omnigraph.client.requests import HttpRequest, HttpResponse
    from omnigraph.client.transport import Transport

__all__ = ["Connection", "Requester"]


class Connection:
    """A transport, the graph of its requests, and the timeout of a call."""

    def __init__(self, transport: Transport, address: Address, timeout: float | None) -> None:
        self.transport = transport
        self.address = address
        self.timeout = timeout
        # The actor of the token, known from the first response on.
        self.actor: str | None = None

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request; an address without a graph selects the only graph of the server."""
        if self.address.graph is None and not request.flat:
            self.address = self.address.named(await find_graph(self.send))
        response = await self.transport.send(self.address, request, self.timeout)
        self.actor = response.actor or self.actor
        return response


class Requester:
    """The base of the classes that send requests through a connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._send = connection.send

    async def _get(self, path: str, **query: Any) -> Any:
        """Return the body of the response to ``get``."""
        return (await self._send(get(path, **query))).body

    async def _post(self, path: str, body: Mapping[str, Any], **options: Any) -> Any:
        """Return the body of the response to ``post``."""
        return (await self._send(post(path, body, **options))).body
