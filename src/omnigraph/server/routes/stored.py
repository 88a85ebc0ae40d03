"""Stored queries: a typed catalogue, and invocation by name."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from omnigraph.api.names import MAIN
from omnigraph.errors import Forbidden, InvalidInput
from omnigraph.policy.actions import Action
from omnigraph.server.headers import DEADLINE, IDEMPOTENCY_KEY, IF_COMMIT
from omnigraph.server.names import parse_branch, parse_target
from omnigraph.server.operations import GRAPH, operation
from omnigraph.server.problems import HttpProblem
from omnigraph.server.routes.query import reader_at
from omnigraph.server.wire.queries import (
    ChangeOutput,
    InvokeInput,
    ReadOutput,
    StoredQueriesOutput,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.responses import Response

    from omnigraph.graph.facade import EmbeddedGraph
    from omnigraph.server.exchange import Exchange
    from omnigraph.server.stored import StoredQuery

__all__ = ["invoke_query", "invoke_query_if_graph_commit", "list_queries"]

_PROBLEMS = (400, 404, 409, 410, 413, 429, 503, 504)


@operation("GET", f"{GRAPH}/queries", answers=(StoredQueriesOutput,), headers=(DEADLINE,))
async def list_queries(exchange: Exchange) -> Response:
    """List the exposed stored queries that the actor may invoke, with their typed parameters."""
    stored = exchange.served.queries

    def work(graph: EmbeddedGraph) -> Any:
        graph.guard.require(Action.READ, branch=MAIN)
        broken = stored.broken(graph.engine)
        return {
            "queries": [
                {**query.to_json(), "broken": True} if query.name in broken else query.to_json()
                for query in stored.shown
                # A query that the actor may not invoke is indistinguishable from a missing one, as
                # in `_find`.
                if graph.guard.check(Action.INVOKE_QUERY, query=query.name).allowed
            ]
        }

    return await exchange.read(work)


@operation(
    "POST",
    f"{GRAPH}/queries/{{name}}",
    body=InvokeInput,
    body_optional=True,
    answers=(ReadOutput, ChangeOutput),
    headers=(DEADLINE, IDEMPOTENCY_KEY),
    problems=_PROBLEMS,
)
async def invoke_query(exchange: Exchange) -> Response:
    """Run a stored query. A forbidden query is reported as a missing one."""
    found = _find(exchange)
    asked: InvokeInput = exchange.body
    if asked.expect_mutation is not None and asked.expect_mutation != found.mutation:
        kind = "a mutation" if found.mutation else "a read"
        raise HttpProblem(400, "query.other_kind", f"stored query {found.name!r} is {kind}")
    return await (_change(exchange, found) if found.mutation else _read(exchange, found))


@operation(
    "POST",
    f"{GRAPH}/queries/{{name}}/if-graph-commit",
    body=InvokeInput,
    body_optional=True,
    answers=(ChangeOutput,),
    headers=(DEADLINE, IDEMPOTENCY_KEY, IF_COMMIT),
    problems=(*_PROBLEMS, 412),
)
async def invoke_query_if_graph_commit(exchange: Exchange) -> Response:
    """Run a stored mutation only while the branch is at the commit in the header."""
    found = _find(exchange)
    if not found.mutation or exchange.body.expect_mutation is False:
        raise HttpProblem(400, "query.other_kind", f"stored query {found.name!r} only reads")
    return await _change(exchange, found)


def _find(exchange: Exchange) -> StoredQuery:
    """Return a query that the actor may invoke, or raise the same 404 for all others."""
    name = exchange.names["name"]
    found = exchange.served.queries.get(name)
    try:
        exchange.require(Action.INVOKE_QUERY, query=name)
    except Forbidden:
        found = None
    if found is None:
        raise HttpProblem(404, "query.missing", f"stored query {name[:80]!r} does not exist")
    return found


async def _read(exchange: Exchange, found: StoredQuery) -> Response:
    asked: InvokeInput = exchange.body
    if exchange.idempotency_key is not None or asked.message is not None:
        raise HttpProblem(400, "query.only_reads", f"stored query {found.name!r} only reads")
    target = parse_target(asked.branch, asked.snapshot)

    def work(graph: EmbeddedGraph) -> Any:
        reader = reader_at(graph, target)
        with _redacted_for(graph, target, found):
            return reader.query(
                found.text,
                asked.params,
                name=found.name,
                source_name=found.source_name,
                budget=exchange.budget(),
            ).to_json()

    return await exchange.read(work)


async def _change(exchange: Exchange, found: StoredQuery) -> Response:
    asked: InvokeInput = exchange.body
    if asked.snapshot is not None:
        raise HttpProblem(400, "query.snapshot", "a mutation requires a branch, not a snapshot")
    branch = parse_branch(asked.branch)
    if_commit, key = exchange.if_commit, exchange.idempotency_key
    exchange.require(Action.CHANGE, branch=branch)

    def work(graph: EmbeddedGraph) -> Any:
        with _redacted_for(graph, branch, found):
            return graph.mutate(
                found.text,
                asked.params,
                name=found.name,
                branch=branch,
                message=asked.message,
                if_commit=if_commit,
                idempotency_key=key,
                source_name=found.source_name,
            ).to_json()

    with exchange.admitted():
        return await exchange.write(work)


@contextmanager
def _redacted_for(graph: EmbeddedGraph, target: str, found: StoredQuery) -> Iterator[None]:
    """Redact compile errors for an actor with a restricted view: they quote the text of the query,
    which may concern hidden types.
    """
    try:
        yield
    except InvalidInput as error:
        if "diagnostics" not in error.details or graph.authorizer.sees_all(target):
            raise
        raise Forbidden(
            "policy.denied",
            f"stored query {found.name!r} refers to hidden types or properties",
            details={"query": found.name},
            remedy="ask the administrator of the policy for the details",
        ) from None
