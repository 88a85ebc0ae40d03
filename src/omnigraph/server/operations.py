"""Declares the operations, the source of routing, decoding and the OpenAPI document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from msgspec import Struct
    from starlette.responses import Response

    from omnigraph.server.exchange import Exchange
    from omnigraph.server.headers import Header
    from omnigraph.server.wire.base import WireInput

    Handler = Callable[[Exchange], Awaitable[Response]]

__all__ = ["GRAPH", "JSON", "NDJSON", "OCTETS", "ApiOperation", "operation"]

GRAPH = "/graphs/{graph_id}"
JSON = "application/json"
NDJSON = "application/x-ndjson"
OCTETS = "application/octet-stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiOperation:
    """One method on one path."""

    id: str
    method: str
    path: str
    handler: Handler
    summary: str
    # The type of the JSON body, and whether it is optional.
    body: type[WireInput] | None = None
    body_optional: bool = False
    # Whether the body holds records, and has the size limit of a load.
    body_of_records: bool = False
    # The media type of a body that is not JSON, and is read by the handler.
    takes: str | None = None
    # The type of the query string; unknown parameters are refused.
    query: type[Struct] | None = None
    headers: tuple[Header, ...] = ()
    # The types of a successful response.
    answers: tuple[Any, ...] = ()
    gives: str = JSON
    # Further media types of the same response, selected by Accept.
    also_gives: tuple[str, ...] = ()
    problems: tuple[int, ...] = ()
    # Further statuses that are not failures.
    others: tuple[int, ...] = ()
    # Requires no token.
    public: bool = False
    tag: str = "graph"

    @property
    def segments(self) -> tuple[str, ...]:
        return tuple(self.path.strip("/").split("/"))

    @property
    def is_of_graph(self) -> bool:
        return self.path.startswith(GRAPH)


def operation(method: str, path: str, **said: Any) -> Callable[[Handler], ApiOperation]:
    """Declare an operation; the function's name is its id, its docstring its summary."""

    def declare(handler: Handler) -> ApiOperation:
        summary = " ".join((handler.__doc__ or "").split())
        return ApiOperation(
            id=handler.__name__,
            method=method,
            path=path,
            handler=handler,
            summary=summary,
            **said,
        )

    return declare
