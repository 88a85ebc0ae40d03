"""Taking data out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.server.headers import DEADLINE
from omnigraph.server.names import parse_target
from omnigraph.server.operations import GRAPH, NDJSON, operation
from omnigraph.server.wire.data import ExportInput

if TYPE_CHECKING:
    from starlette.responses import Response

    from omnigraph.graph.facade import Graph
    from omnigraph.server.exchange import Exchange
    from omnigraph.server.outflow import Outflow

__all__ = ["export"]


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
    """Everything at a target, or some types, as JSON lines that can be loaded again."""
    asked: ExportInput = exchange.body
    target = parse_target(asked.branch, asked.snapshot)

    def work(graph: Graph, out: Outflow) -> None:
        graph.at(target).export(out, types=asked.type_names)

    return await exchange.stream(work, media_type=NDJSON)
