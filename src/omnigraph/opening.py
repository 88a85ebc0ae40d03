"""``omnigraph.open``: opens a graph on storage or behind a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from omnigraph.client import connect
from omnigraph.client.address import is_remote
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from omnigraph.api.graph import Graph
    from omnigraph.graph.open import EmbedderSource, PolicySource
    from omnigraph.runtime.limits import Limits

__all__ = ["open_anywhere"]

_REMOTE = ("token", "graph", "timeout")


@overload
def open_anywhere(
    uri: str | Path,
    *,
    read_only: bool = ...,
    actor: str | None = ...,
    storage_options: Mapping[str, str] | None = ...,
    limits: Limits = ...,
    embedder: EmbedderSource = ...,
    policy: PolicySource = ...,
) -> Graph: ...


@overload
def open_anywhere(
    uri: str | Path,
    *,
    token: str | None = ...,
    graph: str | None = ...,
    timeout: float | None = ...,
) -> Graph: ...


def open_anywhere(uri: str | Path, **options: Any) -> Graph:
    """Open a graph on a path, ``file://`` or ``s3://``, or behind a server at ``http(s)://``.

    On storage: ``read_only`` writes nothing, not even recovery; ``actor`` is the default actor of
    all calls; ``storage_options`` configure the bucket; ``embedder`` computes the vectors of texts
    (an object, a provider by name, else that of the environment); ``policy`` (a file, a
    ``preset:``, a bundle) authorises every call of ``actor``; ``limits`` bound the resources of a
    write.

    Behind a server: ``token`` authenticates the actor; ``graph`` selects one of its graphs, unless
    the address does; ``timeout`` bounds every call, in seconds. The result has the same methods.
    """
    if is_remote(uri):
        strange = sorted(set(options) - set(_REMOTE))
        if strange:
            raise InvalidInput(
                "client.bad_option",
                f"{strange[0]!r} does not apply to a graph behind a server",
                remedy=f"a server accepts {', '.join(_REMOTE)}",
            )
        return connect(str(uri), **options)
    strange = sorted(set(options) & set(_REMOTE))
    if strange:
        raise InvalidInput(
            "client.bad_option",
            f"{strange[0]!r} applies to graphs behind a server only, and {str(uri)!r} is storage",
            remedy="omit it, or pass the address of a server",
        )
    # The engine is imported for embedded graphs only.
    from omnigraph.graph.open import open_graph  # noqa: PLC0415

    return open_graph(uri, **options)
