"""The status of a graph, and the datasets of a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.server.headers import DEADLINE
from omnigraph.server.names import parse_target
from omnigraph.server.operations import GRAPH, operation
from omnigraph.server.wire.graphs import SnapshotOutput, SnapshotQuery, StatusOutput

if TYPE_CHECKING:
    from starlette.responses import Response

    from omnigraph.server.exchange import Exchange

__all__ = ["get_snapshot", "get_status"]


@operation("GET", f"{GRAPH}/status", answers=(StatusOutput,), headers=(DEADLINE,))
async def get_status(exchange: Exchange) -> Response:
    """Return the identity, size, heads and problems of the graph."""
    return await exchange.read(lambda graph: graph.status().to_json())


@operation(
    "GET",
    f"{GRAPH}/snapshot",
    query=SnapshotQuery,
    answers=(SnapshotOutput,),
    headers=(DEADLINE,),
    problems=(400, 410),
)
async def get_snapshot(exchange: Exchange) -> Response:
    """List the dataset versions of a target."""
    target = parse_target(exchange.query.branch, exchange.query.snapshot)
    return await exchange.read(lambda graph: graph.at(target).snapshot())
