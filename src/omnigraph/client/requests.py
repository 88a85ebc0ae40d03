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
    """What came back, and succeeded: a JSON body, or bytes of another kind."""

    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def actor(self) -> str | None:
        """Whom the server takes the token for."""
        found = self.headers.get("omnigraph-actor")
        return None if found is None else unquote(found)


@frozen
class HttpRequest:
    """One call. ``repeatable`` says that a second one has no second effect."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    json: Mapping[str, Any] | None = None
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = False
    # Where the bytes of a long answer go, piece by piece.
    sink: Callable[[bytes], object] | None = None
    # About the server rather than about a graph of it.
    flat: bool = False

    def into(self, sink: Callable[[bytes], object]) -> HttpRequest:
        """The same, with an answer that goes elsewhere piece by piece."""
        return replace(self, sink=sink)


def get(path: str, **query: Any) -> HttpRequest:
    """A read; what is None or empty is left out, what is a list is repeated."""
    return HttpRequest("GET", path, _pairs(query), repeatable=True)


def post(path: str, body: Mapping[str, Any], **said: Any) -> HttpRequest:
    """What is None in the body is left out."""
    sent = {key: value for key, value in body.items() if value is not None}
    return HttpRequest("POST", path, json=sent, **said)


def delete(path: str, **query: Any) -> HttpRequest:
    return HttpRequest("DELETE", path, _pairs(query))


def path_of(*segments: str) -> str:
    """A path of names, each escaped: no name can leave its place."""
    return "".join(f"/{quote(segment, safe='')}" for segment in segments)


def _pairs(query: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    for key, value in query.items():
        values = value if isinstance(value, list | tuple) else [value]
        found += [(key.rstrip("_"), _spelled(each)) for each in values if each is not None]
    return tuple(found)


def _spelled(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
