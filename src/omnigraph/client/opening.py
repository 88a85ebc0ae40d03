"""``omnigraph.open``: a graph wherever it is, on storage or behind a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.client import connect
from omnigraph.client.address import is_remote
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from pathlib import Path

    from omnigraph.client.remote import RemoteGraph
    from omnigraph.graph.facade import Graph

__all__ = ["open_anywhere"]

_REMOTE = ("token", "graph", "timeout")


def open_anywhere(uri: str | Path, **options: Any) -> Graph | RemoteGraph:
    """Open a graph: on storage as ``graph.open`` does, at ``http(s)://…`` as ``connect`` does."""
    if is_remote(uri):
        strange = sorted(set(options) - set(_REMOTE))
        if strange:
            raise InvalidInput(
                "client.bad_option",
                f"{strange[0]!r} says nothing about a graph behind a server",
                remedy=f"a server takes {', '.join(_REMOTE)}",
            )
        return connect(str(uri), **options)
    # The engine is only loaded for graphs that are opened here.
    from omnigraph.graph.open import open_graph  # noqa: PLC0415

    return open_graph(uri, **options)
