"""The schema: show, plan, apply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.api.names import MAIN
from omnigraph.policy.actions import Action
from omnigraph.server.headers import DEADLINE
from omnigraph.server.names import parse_branch, parse_condition, parse_target
from omnigraph.server.operations import GRAPH, operation
from omnigraph.server.wire.data import (
    SchemaApplyInput,
    SchemaApplyOutput,
    SchemaOutput,
    SchemaPlanInput,
    SchemaPlanOutput,
)
from omnigraph.server.wire.graphs import SnapshotQuery

if TYPE_CHECKING:
    from starlette.responses import Response

    from omnigraph.graph.facade import EmbeddedGraph
    from omnigraph.server.exchange import Exchange

__all__ = ["apply_schema", "get_schema", "plan_schema"]


@operation(
    "GET",
    f"{GRAPH}/schema",
    query=SnapshotQuery,
    answers=(SchemaOutput,),
    headers=(DEADLINE,),
    problems=(400, 410),
)
async def get_schema(exchange: Exchange) -> Response:
    """Return the schema at a target as `.pg`."""
    target = parse_target(exchange.query.branch, exchange.query.snapshot)
    return await exchange.read(lambda graph: {"schema_source": graph.at(target).schema})


@operation(
    "POST",
    f"{GRAPH}/schema/plan",
    body=SchemaPlanInput,
    answers=(SchemaPlanOutput,),
    headers=(DEADLINE,),
    problems=(400, 413),
)
async def plan_schema(exchange: Exchange) -> Response:
    """Plan the steps from the schema of a branch to another one; changes nothing."""
    asked: SchemaPlanInput = exchange.body
    branch = parse_branch(asked.branch)

    def work(graph: EmbeddedGraph) -> Any:
        plan = graph.at(branch).plan_schema(
            asked.schema_source, allow_data_loss=asked.allow_data_loss, backfill=asked.backfill
        )
        return {"uri": graph.uri, **plan.to_json()}

    return await exchange.read(work)


@operation(
    "POST",
    f"{GRAPH}/schema/apply",
    body=SchemaApplyInput,
    answers=(SchemaApplyOutput,),
    headers=(DEADLINE,),
    problems=(400, 409, 412, 413, 429, 503, 504),
)
async def apply_schema(exchange: Exchange) -> Response:
    """Change the schema of a branch: checks, rewrites and catalog in one commit."""
    asked: SchemaApplyInput = exchange.body
    branch = parse_branch(asked.branch)
    if_commit = parse_condition(asked.if_commit)
    exchange.require(Action.SCHEMA_APPLY, target_branch=branch)
    stored = exchange.served.queries

    def work(graph: EmbeddedGraph) -> Any:
        done = graph.apply_schema(
            asked.schema_source,
            branch=branch,
            allow_data_loss=asked.allow_data_loss,
            backfill=asked.backfill,
            message=asked.message,
            if_commit=if_commit,
            dry_run=asked.dry_run,
        ).to_json()
        broken = stored.broken(graph.engine) if branch == MAIN else {}
        if not broken:
            return done
        told = [{"name": name, "error": error} for name, error in broken.items()]
        return {**done, "broken_queries": told}

    with exchange.admitted():
        return await exchange.write(work)
