"""Selects the graph of an address that names none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from omnigraph.client.requests import HttpRequest, HttpResponse
from omnigraph.errors import Forbidden, InvalidInput, NotFound

__all__ = ["Send", "find_graph", "list_graphs"]

Send: TypeAlias = Callable[[HttpRequest], Awaitable[HttpResponse]]


async def list_graphs(send: Send) -> list[str]:
    """List the graphs of a server, by name."""
    response = await send(HttpRequest("GET", "/graphs", repeatable=True, flat=True))
    return [each["graph_id"] for each in response.body["graphs"]]


async def find_graph(send: Send) -> str:
    """Return the only graph of a server."""
    try:
        names = await list_graphs(send)
        why = f"the server has {len(names)}" if names else "the server lists none that you may read"
    except (Forbidden, NotFound):
        names, why = [], "the server does not list its graphs"
    if len(names) == 1:
        return names[0]
    known = f": {', '.join(names[:20])}" if names else ""
    raise InvalidInput(
        "client.which_graph",
        f"the address names no graph, and {why}",
        remedy=f"name a graph with --graph ID or graph=ID{known}",
        details={"graphs": names},
    )
