"""The server itself: is it there, is it ready, what does it serve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from starlette.responses import Response

from omnigraph import __version__
from omnigraph.policy.actions import Action
from omnigraph.policy.guard import denied
from omnigraph.policy.questions import Decision
from omnigraph.server.exchange import JsonAnswer
from omnigraph.server.metrics import CONTENT_TYPE
from omnigraph.server.openapi import make_document
from omnigraph.server.operations import operation
from omnigraph.server.problems import Problem
from omnigraph.server.wire.graphs import GraphsOutput, HealthOutput, ReadinessOutput
from omnigraph.versioning.stamp import FORMAT

if TYPE_CHECKING:
    from omnigraph.server.exchange import Exchange

__all__ = ["healthz", "list_graphs", "metrics", "openapi", "readyz"]


@operation("GET", "/healthz", public=True, answer=HealthOutput, tag="server")
async def healthz(exchange: Exchange) -> Response:  # noqa: ARG001 - as handlers are called
    """Tell that the process lives, and which release it is."""
    return _json(HealthOutput(status="ok", version=__version__, internal_schema_version=FORMAT))


@operation("GET", "/readyz", public=True, answer=ReadinessOutput, problems=(503,), tag="server")
async def readyz(exchange: Exchange) -> Response:
    """Tell whether the server takes requests now."""
    server = exchange.server
    if server.stopping:
        raise Problem(503, "server.stopping", "the server is stopping")
    served = len(server.registry.list())
    return _json(ReadinessOutput(status="ready", access=server.access.value, graphs=served))


@operation("GET", "/metrics", gives="text/plain", tag="server")
async def metrics(exchange: Exchange) -> Response:
    """Counts and times, for Prometheus."""
    return Response(exchange.server.metrics.text(), media_type=CONTENT_TYPE)


@operation("GET", "/openapi.json", public=True, answer=dict, tag="server")
async def openapi(exchange: Exchange) -> Response:
    """This document."""
    server = exchange.server
    return _json(make_document(server.operations, secured=server.access.value != "open"))


@operation("GET", "/graphs", answer=GraphsOutput, problems=(403,), tag="server")
async def list_graphs(exchange: Exchange) -> Response:
    """List the served graphs."""
    registry = exchange.server.registry
    guard = registry.guard
    if guard is None:
        raise denied(exchange.actor, Action.GRAPH_LIST, Decision(allowed=False))
    guard.acting_as(exchange.actor).require(Action.GRAPH_LIST)
    found = [{"graph_id": served.id, "uri": served.graph.uri} for served in registry.list()]
    return _json({"graphs": found})


def _json(body: object) -> Response:
    return JsonAnswer(msgspec.json.encode(body))
