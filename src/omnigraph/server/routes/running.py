"""Running queries, exports and writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.server.operations import GRAPH, operation
from omnigraph.server.wire.graphs import OperationOutput, OperationsOutput

if TYPE_CHECKING:
    from starlette.responses import Response

    from omnigraph.server.exchange import Exchange

__all__ = ["cancel_operation", "list_operations"]


@operation("GET", f"{GRAPH}/operations", answers=(OperationsOutput,))
async def list_operations(exchange: Exchange) -> Response:
    """List the running operations, oldest first."""
    return await exchange.read(
        lambda graph: {"operations": [each.to_json() for each in graph.operations.list()]}
    )


@operation("DELETE", f"{GRAPH}/operations/{{operation_id}}", answers=(OperationOutput,))
async def cancel_operation(exchange: Exchange) -> Response:
    """Cancel an operation.

    Its caller receives an error; a cancelled write has no effect, and a commit that is being
    published is completed.
    """
    operation_id = exchange.names["operation_id"]
    return await exchange.read(lambda graph: graph.operations.cancel(operation_id).to_json())
