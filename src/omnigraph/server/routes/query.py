"""Read queries: run, explain, profile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.api.arrow_stream import MEDIA_TYPE, to_ipc
from omnigraph.api.names import MAIN
from omnigraph.server.headers import DEADLINE
from omnigraph.server.names import parse_target
from omnigraph.server.operations import GRAPH, JSON, operation
from omnigraph.server.wire.queries import (
    ExplainInput,
    ExplainOutput,
    ProfileInput,
    QueryInput,
    ReadOutput,
)

if TYPE_CHECKING:
    from starlette.responses import Response

    from omnigraph.api.graph import Graph, GraphAt
    from omnigraph.server.exchange import Exchange

__all__ = ["explain", "profile", "query", "reader_at"]

_PROBLEMS = (400, 404, 409, 410, 413, 504)


def reader_at(graph: Graph, target: str) -> GraphAt:
    """Return the graph at a target; the default target needs no lookup of its head."""
    return graph if target == MAIN else graph.at(target)


@operation(
    "POST",
    f"{GRAPH}/query",
    body=QueryInput,
    answers=(ReadOutput,),
    also_gives=(MEDIA_TYPE,),
    headers=(DEADLINE,),
    problems=_PROBLEMS,
)
async def query(exchange: Exchange) -> Response:
    """Run a read query on one snapshot."""
    asked: QueryInput = exchange.body
    target = parse_target(asked.branch, asked.snapshot)
    # Arrow keeps the types of values; JSON has no dates and no large integers.
    typed = MEDIA_TYPE in (exchange.header("Accept") or "")

    def work(graph: Graph) -> Any:
        found = reader_at(graph, target).query(
            asked.query,
            asked.params,
            name=asked.name,
            budget=exchange.budget(asked.budget),
            traversal=asked.traversal,
        )
        return to_ipc(found) if typed else found.to_json()

    return await exchange.read(work, media_type=MEDIA_TYPE if typed else JSON)


@operation(
    "POST",
    f"{GRAPH}/explain",
    body=ExplainInput,
    answers=(ExplainOutput,),
    headers=(DEADLINE,),
    problems=_PROBLEMS,
)
async def explain(exchange: Exchange) -> Response:
    """Return the plan of a read query without running it."""
    asked: ExplainInput = exchange.body
    target = parse_target(asked.branch, asked.snapshot)
    return await exchange.read(
        lambda graph: (
            reader_at(graph, target)
            .explain(asked.query, name=asked.name, traversal=asked.traversal)
            .to_json()
        )
    )


@operation(
    "POST",
    f"{GRAPH}/profile",
    body=ProfileInput,
    answers=(ExplainOutput,),
    headers=(DEADLINE,),
    problems=_PROBLEMS,
)
async def profile(exchange: Exchange) -> Response:
    """Run a read query, and measure the rows, time and bytes of every operator."""
    asked: ProfileInput = exchange.body
    target = parse_target(asked.branch, asked.snapshot)
    return await exchange.read(
        lambda graph: (
            reader_at(graph, target)
            .profile(
                asked.query,
                asked.params,
                name=asked.name,
                budget=exchange.budget(asked.budget),
                traversal=asked.traversal,
            )
            .to_json()
        )
    )
