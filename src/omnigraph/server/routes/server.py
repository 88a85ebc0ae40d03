"""Health, readiness, metrics, and the served graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from starlette.responses import Response

from omnigraph import __version__
from omnigraph.errors import Forbidden
from omnigraph.policy.actions import Action
from omnigraph.server.exchange import JsonResponse
from omnigraph.server.metrics import CONTENT_TYPE
from omnigraph.server.operations import operation
from omnigraph.server.problems import HttpProblem
from omnigraph.server.wire.graphs import GraphsOutput, HealthOutput, ReadinessOutput
from omnigraph.versioning.stamp import FORMAT

if TYPE_CHECKING:
    from omnigraph.server.exchange import Exchange

__all__ = ["healthz", "list_graphs", "metrics", "openapi", "readyz"]


@operation("GET", "/healthz", public=True, answers=(HealthOutput,), tag="server")
async def healthz(exchange: Exchange) -> Response:  # noqa: ARG001 - as handlers are called
    """Report that the process is alive, and its release."""
    return _json(HealthOutput(status="ok", version=__version__, internal_schema_version=FORMAT))


@operation("GET", "/readyz", public=True, answers=(ReadinessOutput,), problems=(503,), tag="server")
async def readyz(exchange: Exchange) -> Response:
    """Report whether the server accepts requests."""
    service = exchange.service
    if service.stopping:
        raise HttpProblem(503, "server.stopping", "the server is shutting down")
    registry = service.registry
    return _json(
        ReadinessOutput(
            status="ready",
            access=service.access.value,
            graphs=len(registry.list()),
            quarantined=len(registry.quarantined),
        )
    )


@operation("GET", "/metrics", gives="text/plain", tag="server")
async def metrics(exchange: Exchange) -> Response:
    """Return metrics in the text format of Prometheus."""
    return Response(exchange.service.metrics.text(), media_type=CONTENT_TYPE)


@operation("GET", "/openapi.json", public=True, answers=(dict,), tag="server")
async def openapi(exchange: Exchange) -> Response:
    """Return this document."""
    return JsonResponse(exchange.service.document)


@operation("GET", "/graphs", answers=(GraphsOutput,), problems=(403,), tag="server")
async def list_graphs(exchange: Exchange) -> Response:
    """List the served graphs, and those that cannot be served."""
    registry = exchange.service.registry
    guard = registry.guard
    if guard is None:
        raise Forbidden(
            "policy.denied",
            "`graph_list` is denied: the server has no policy that allows it",
            details={"action": Action.GRAPH_LIST.value},
            remedy="serve with --server-policy FILE",
        )
    guard.acting_as(exchange.actor).require(Action.GRAPH_LIST)
    found = [{"graph_id": served.id, "uri": served.graph.uri} for served in registry.list()]
    broken = [{"graph_id": each.id, "reason": each.reason} for each in registry.quarantined]
    return _json({"graphs": found, "quarantined": broken} if broken else {"graphs": found})


def _json(body: object) -> Response:
    return JsonResponse(msgspec.json.encode(body))
