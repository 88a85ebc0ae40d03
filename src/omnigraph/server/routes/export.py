"""Exports of entities."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from omnigraph.api.arrow_stream import MEDIA_TYPE
from omnigraph.catalog.model import EntityKind
from omnigraph.export.entities import write_entities
from omnigraph.server.headers import DEADLINE
from omnigraph.server.names import parse_target
from omnigraph.server.operations import GRAPH, NDJSON, operation
from omnigraph.server.problems import HttpProblem
from omnigraph.server.wire.data import ExportInput
from omnigraph.server.wire.graphs import SnapshotQuery

if TYPE_CHECKING:
    from starlette.responses import Response

    from omnigraph.graph.facade import EmbeddedGraph
    from omnigraph.server.exchange import Exchange
    from omnigraph.server.response_stream import ResponseStream

__all__ = ["export", "get_entities"]


@operation(
    "POST",
    f"{GRAPH}/export",
    body=ExportInput,
    body_optional=True,
    gives=NDJSON,
    headers=(DEADLINE,),
    problems=(400, 410, 413, 503),
)
async def export(exchange: Exchange) -> Response:
    """Export the entities at a target, or some types, as JSON lines that a load accepts."""
    asked: ExportInput = exchange.body
    target = parse_target(asked.branch, asked.snapshot)

    def work(graph: EmbeddedGraph, out: ResponseStream) -> None:
        graph.at(target).export(out, types=asked.type_names)

    return await exchange.stream(work, media_type=NDJSON)


@operation(
    "GET",
    f"{GRAPH}/entities/{{kind}}/{{type}}",
    query=SnapshotQuery,
    gives=MEDIA_TYPE,
    headers=(DEADLINE,),
    problems=(400, 410, 413, 503),
)
async def get_entities(exchange: Exchange) -> Response:
    """Return all entities of one type as an Arrow stream of id, endpoints and properties."""
    target = parse_target(exchange.query.branch, exchange.query.snapshot)
    name = exchange.names["type"]
    try:
        kind = EntityKind(exchange.names["kind"])
    except ValueError:
        raise HttpProblem(404, "request.no_such_path", "the kind must be node or edge") from None

    def work(graph: EmbeddedGraph, out: ResponseStream) -> None:
        engine = graph.authorizer.export(target)
        with engine.running.during("export", target, exchange.actor, name=name):
            write_entities(engine, target, kind, name, _File(out))

    return await exchange.stream(work, media_type=MEDIA_TYPE)


class _File(io.RawIOBase):
    """Adapts a response stream to the file interface of Arrow."""

    def __init__(self, out: ResponseStream) -> None:
        self._out = out

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        return self._out.write(data)
