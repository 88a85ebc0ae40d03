"""A graph of a server behind the methods of the facade: what runs embedded runs remote.

``connect`` gives a ``RemoteGraph``, ``connect_async`` an ``AsyncRemoteGraph``. Each verb is written
once, as ``Steps``: it yields requests and is sent their answers. ``remote`` runs the steps and
waits, ``remote_async`` runs the same steps and awaits. ``transport`` sends, repeats what may be
repeated and keeps to the deadline; ``answers`` makes result types of bodies, ``failures`` errors.
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
    """A graph of the server at ``url``: ``graph`` names it, or the end of ``…/graphs/NAME``.

    ``timeout`` is how long a call may take, repetitions included; the server is told, too.
    """
    # The HTTP library is only needed by whoever talks to a server.
    from omnigraph.client.address import Address  # noqa: PLC0415
    from omnigraph.client.remote import RemoteGraph  # noqa: PLC0415

    return RemoteGraph(Address.of(url, graph), token=token, timeout=timeout)


def connect_async(
    url: str,
    *,
    token: str | None = None,
    graph: str | None = None,
    timeout: float | None = TIMEOUT_SECONDS,
) -> AsyncRemoteGraph:
    """The same for code that awaits. Close it with ``aclose``, or use it in ``async with``."""
    from omnigraph.client.address import Address  # noqa: PLC0415
    from omnigraph.client.remote_async import AsyncRemoteGraph  # noqa: PLC0415

    return AsyncRemoteGraph(Address.of(url, graph), token=token, timeout=timeout)
