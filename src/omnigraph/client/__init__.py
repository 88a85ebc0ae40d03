"""The remote graph: the ``Graph`` protocol over HTTP. ``connect`` returns a ``RemoteGraph``,
``connect_async`` an ``AsyncRemoteGraph``.

Every method is a coroutine of the asynchronous graph; the synchronous one runs it to its end on a
transport that blocks. The package imports no engine. Modules in reading order:

- ``remote``: the synchronous graph.
- ``blocking``: runs coroutines without an event loop.
- ``remote_async``: the asynchronous graph.
- ``reads_async``: its reads, at one target.
- ``namespaces_async``: branches, tags, commits, changes and operations.
- ``connection``: a transport, the graph of its requests, and the timeout of a call.
- ``address``: the URL of a graph of a server.
- ``graph_selection``: selects the graph of an address that names none.
- ``requests``: HTTP requests and responses as data.
- ``request_bodies``: parts of request bodies.
- ``records``: records and tables as the JSON lines of a load.
- ``transport``: sends requests.
- ``retries``: decides on the repetition of a request, and the pause before it.
- ``decoding``: commits, writes, refs, status and plans from response bodies.
- ``history_decoding``: changes, merges and schema changes.
- ``results``: rows, exports and baselines.
- ``failures``: errors from response bodies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omnigraph.client.remote import RemoteGraph
    from omnigraph.client.remote_async import AsyncRemoteGraph

__all__ = ["connect", "connect_async"]

TIMEOUT_SECONDS = 60.0


def connect(
    url: str,
    *,
    token: str | None = None,
    graph: str | None = None,
    timeout: float | None = TIMEOUT_SECONDS,
) -> RemoteGraph:
    """Connect to a graph of the server at ``url``: ``graph`` names it, or the end of
    ``…/graphs/NAME``.

    ``timeout`` bounds every call in seconds, repetitions included; requests carry it to the server.
    """
    # The HTTP library is imported by users of servers only.
    from omnigraph.client.address import Address  # noqa: PLC0415
    from omnigraph.client.connection import Connection  # noqa: PLC0415
    from omnigraph.client.remote import RemoteGraph  # noqa: PLC0415
    from omnigraph.client.transport import BlockingTransport  # noqa: PLC0415

    return RemoteGraph(Connection(BlockingTransport(token), Address.of(url, graph), timeout))


def connect_async(
    url: str,
    *,
    token: str | None = None,
    graph: str | None = None,
    timeout: float | None = TIMEOUT_SECONDS,
) -> AsyncRemoteGraph:
    """Connect asynchronously. Close the graph with ``aclose``, or use it in ``async with``."""
    from omnigraph.client.address import Address  # noqa: PLC0415
    from omnigraph.client.connection import Connection  # noqa: PLC0415
    from omnigraph.client.remote_async import AsyncRemoteGraph  # noqa: PLC0415
    from omnigraph.client.transport import AsyncTransport  # noqa: PLC0415

    return AsyncRemoteGraph(Connection(AsyncTransport(token), Address.of(url, graph), timeout))
