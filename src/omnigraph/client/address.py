"""Addresses of graphs behind servers."""

from __future__ import annotations

from urllib.parse import quote, unquote, urlsplit

from omnigraph.errors import InvalidInput
from omnigraph.frozen import frozen

__all__ = ["Address", "is_remote"]

_SCHEMES = ("http", "https")


def is_remote(uri: object) -> bool:
    """Whether an address is that of a server."""
    return str(uri).lower().startswith(tuple(f"{scheme}://" for scheme in _SCHEMES))


@frozen
class Address:
    """The root URL of a server, and the name of one of its graphs; None for its only graph."""

    root: str
    graph: str | None = None

    @staticmethod
    def of(url: str, graph: str | None = None) -> Address:
        """Parse ``https://host[/prefix]`` with a name, or ``https://host[/prefix]/graphs/NAME``."""
        parts = urlsplit(url)
        if parts.scheme.lower() not in _SCHEMES or not parts.hostname:
            raise _bad(url, "is not the URL of a server")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise _bad(url, "contains more than scheme, host and path")
        path = parts.path.rstrip("/")
        prefix, found, name = path.rpartition("/graphs/")
        if found and name and "/" not in name:
            path = prefix
            if graph is not None and graph != unquote(name):
                raise _bad(url, f"names another graph than {graph!r}")
            graph = unquote(name)
        return Address(f"{parts.scheme.lower()}://{parts.netloc}{path}", graph)

    def named(self, graph: str) -> Address:
        return Address(self.root, graph)

    @property
    def uri(self) -> str:
        return self.root if self.graph is None else f"{self.root}{self.prefix}"

    @property
    def prefix(self) -> str:
        return f"/graphs/{quote(self.graph or '', safe='')}"


def _bad(url: str, problem: str) -> InvalidInput:
    # The user information before the host may be a secret.
    shown = url.rpartition("@")[2][:200]
    return InvalidInput(
        "client.bad_address",
        f"{shown!r} {problem}",
        remedy="use https://HOST and name the graph: graph=NAME or …/graphs/NAME",
    )
