"""Mutations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.policy.actions import Action
from omnigraph.server.headers import DEADLINE, IDEMPOTENCY_KEY, IF_COMMIT
from omnigraph.server.operations import GRAPH, operation
from omnigraph.server.wire.queries import ChangeOutput, MutateInput

if TYPE_CHECKING:
    from starlette.responses import Response

    from omnigraph.server.exchange import Exchange

__all__ = ["mutate", "mutate_if_graph_commit"]

_PROBLEMS = (400, 404, 409, 413, 429, 503, 504)


@operation(
    "POST",
    f"{GRAPH}/mutate",
    body=MutateInput,
    answers=(ChangeOutput,),
    headers=(DEADLINE, IDEMPOTENCY_KEY),
    problems=_PROBLEMS,
)
async def mutate(exchange: Exchange) -> Response:
    """Run a mutation as one commit on a branch."""
    return await _mutate(exchange)


@operation(
    "POST",
    f"{GRAPH}/mutate/if-graph-commit",
    body=MutateInput,
    answers=(ChangeOutput,),
    headers=(DEADLINE, IDEMPOTENCY_KEY, IF_COMMIT),
    problems=(*_PROBLEMS, 412),
)
async def mutate_if_graph_commit(exchange: Exchange) -> Response:
    """Run a mutation only while the branch is at the commit in the header."""
    return await _mutate(exchange)


async def _mutate(exchange: Exchange) -> Response:
    asked: MutateInput = exchange.body
    branch = exchange.branch(asked.branch)
    if_commit, key = exchange.if_commit, exchange.idempotency_key
    exchange.require(Action.CHANGE, branch=branch)
    with exchange.admitted():
        return await exchange.write(
            lambda graph: graph.mutate(
                asked.query,
                asked.params,
                name=asked.name,
                branch=branch,
                message=asked.message,
                if_commit=if_commit,
                idempotency_key=key,
                dry_run=asked.dry_run,
            ).to_json()
        )
