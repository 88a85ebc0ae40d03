"""Loads."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from omnigraph.policy.actions import Action
from omnigraph.server.encoding import decoded, required_encoding
from omnigraph.server.headers import DEADLINE, IDEMPOTENCY_KEY
from omnigraph.server.names import parse_branch, parse_condition, parse_target
from omnigraph.server.operations import GRAPH, NDJSON, operation
from omnigraph.server.problems import HttpProblem
from omnigraph.server.request_stream import RequestStream
from omnigraph.server.wire.data import LoadInput, LoadOutput, LoadQuery

if TYPE_CHECKING:
    from starlette.responses import Response

    from omnigraph.api.graph import Graph
    from omnigraph.server.exchange import Exchange

__all__ = ["load", "load_ndjson"]

_PROBLEMS = (400, 404, 409, 412, 413, 429, 503, 504)


@operation(
    "POST",
    f"{GRAPH}/load",
    body=LoadInput,
    body_of_records=True,
    answers=(LoadOutput,),
    headers=(DEADLINE, IDEMPOTENCY_KEY),
    problems=_PROBLEMS,
)
async def load(exchange: Exchange) -> Response:
    """Load records from a string in the body, as one commit or none."""
    asked: LoadInput = exchange.body
    data = asked.data.encode()
    said = _load_arguments(exchange, asked)
    with exchange.admitted():
        return await exchange.load(lambda graph: _load(graph, data, said))


@operation(
    "POST",
    f"{GRAPH}/load/ndjson",
    takes=NDJSON,
    query=LoadQuery,
    answers=(LoadOutput,),
    headers=(DEADLINE, IDEMPOTENCY_KEY),
    problems=(*_PROBLEMS, 408, 415),
)
async def load_ndjson(exchange: Exchange) -> Response:
    """Load JSON lines while they arrive, as one commit or none."""
    asked: LoadQuery = exchange.query
    said = _load_arguments(exchange, asked)
    exchange.require_media_type(NDJSON, "application/ndjson", "application/jsonl")
    limit = exchange.service.limits.load_bytes_max
    given = exchange.header("Content-Length")
    try:
        exchange.require_length(limit)
        with exchange.admitted(int(given) if given and given.isdigit() else 0):
            return await _stream_in(exchange, said, limit)
    except HttpProblem as problem:
        raise _to_spark(problem) if problem.status == 413 else problem from None


async def _stream_in(exchange: Exchange, said: dict[str, Any], limit: int) -> Response:
    codec = required_encoding(exchange)
    inflow = RequestStream()
    feeding = asyncio.ensure_future(inflow.feed(exchange, limit))

    def work(graph: Graph) -> Any:
        with decoded(inflow, codec, limit) as body:
            return _load(graph, body, said)

    try:
        return await exchange.load(work)
    finally:
        inflow.close()
        feeding.cancel()
        with suppress(asyncio.CancelledError):
            await feeding


def _load_arguments(exchange: Exchange, asked: LoadInput | LoadQuery) -> dict[str, Any]:
    """Authorise the load, and return its arguments."""
    branch = parse_branch(asked.branch)
    source = None if asked.source is None else parse_target(None, asked.source)
    exchange.require(Action.CHANGE, branch=branch)
    return {
        "mode": asked.mode,
        "branch": branch,
        "from_": source,
        "type": asked.type,
        "format": "ndjson",
        "message": asked.message,
        "if_commit": parse_condition(asked.if_commit),
        "idempotency_key": exchange.idempotency_key,
        "dry_run": asked.dry_run,
    }


def _load(graph: Graph, data: Any, said: dict[str, Any]) -> Any:
    return {"uri": graph.uri, **graph.load(data, **said).to_json()}


def _to_spark(problem: HttpProblem) -> HttpProblem:
    problem.remedy = (
        "use Spark, which has no such limit: "
        "omnigraph load GRAPH --data FILE --mode MODE --engine spark"
    )
    limit = problem.more.get("resource_limit")
    if limit is not None:
        limit["name"] = "graph_batch_request_bytes"
    return problem
