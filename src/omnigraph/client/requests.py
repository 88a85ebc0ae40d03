"""HTTP requests and responses as data."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from omnigraph.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["HttpRequest", "HttpResponse", "delete", "get", "path_of", "post"]


@frozen
class HttpResponse:
    """A successful response: a JSON body, or bytes of another kind."""

    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def actor(self) -> str | None:
        """The actor that the server derives from the token."""
        found = self.headers.get("omnigraph-actor")
        return None if found is None else unquote(found)


@frozen
class HttpRequest:
    """One request. ``repeatable``: it is idempotent."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    json: Mapping[str, Any] | None = None
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = False
    # The destination of a streamed response.
    sink: Callable[[bytes], object] | None = None
    # Addresses the server rather than one of its graphs.
    flat: bool = False

    def into(self, sink: Callable[[bytes], object]) -> HttpRequest:
        """Return the request with its response streamed to ``sink``."""
        return replace(self, sink=sink)


def get(path: str, **query: Any) -> HttpRequest:
    """Build a read request; None and empty parameters are omitted, and lists are repeated."""
    return HttpRequest("GET", path, _pairs(query), repeatable=True)


def post(path: str, body: Mapping[str, Any], **said: Any) -> HttpRequest:
    """Build a write request; None is omitted from the body."""
    sent = {key: value for key, value in body.items() if value is not None}
    return HttpRequest("POST", path, json=sent, **said)


def delete(path: str, **query: Any) -> HttpRequest:
    return HttpRequest("DELETE", path, _pairs(query))


def path_of(*segments: str) -> str:
    """Join names to a path, each escaped, so that no name can add a segment."""
    return "".join(f"/{quote(segment, safe='')}" for segment in segments)


def _pairs(query: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    for key, value in query.items():
        values = value if isinstance(value, list | tuple) else [value]
        found += [(key.rstrip("_"), _to_text(each)) for each in values if each is not None]
    return tuple(found)


def _to_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
