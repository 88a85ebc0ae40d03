"""Tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.api.names import parse_tag_name
from omnigraph.api.refs import damage_to_json
from omnigraph.policy.actions import Action
from omnigraph.server.headers import DEADLINE
from omnigraph.server.names import parse_target
from omnigraph.server.operations import GRAPH, operation
from omnigraph.server.wire.history import (
    TagCreateInput,
    TagCreateOutput,
    TagDeleteOutput,
    TagsOutput,
)

if TYPE_CHECKING:
    from starlette.responses import Response

    from omnigraph.api.graph import Graph
    from omnigraph.server.exchange import Exchange

__all__ = ["create_tag", "delete_tag", "list_tags"]

_WRITES = (400, 404, 409, 429, 503, 504)
_NAME_BYTES = 256


@operation("GET", f"{GRAPH}/tags", answers=(TagsOutput,), headers=(DEADLINE,))
async def list_tags(exchange: Exchange) -> Response:
    """List the tags with their commits, by name."""

    def work(graph: Graph) -> Any:
        listed = graph.tags.list()
        found = [
            {
                "name": tag.name,
                "graph_commit_id": tag.commit,
                "created_at": tag.created_at_micros,
                "actor_id": tag.actor,
            }
            for tag in listed
        ]
        return {"tags": found, **damage_to_json(listed.damaged)}

    return await exchange.read(work)


@operation(
    "POST",
    f"{GRAPH}/tags",
    body=TagCreateInput,
    answers=(TagCreateOutput,),
    headers=(DEADLINE,),
    problems=_WRITES,
)
async def create_tag(exchange: Exchange) -> Response:
    """Give a commit a permanent name."""
    asked: TagCreateInput = exchange.body
    name = parse_tag_name(asked.name.strip())
    at = parse_target(None, "main" if asked.at is None else asked.at)

    def work(graph: Graph) -> Any:
        tag = graph.tags.create(name, at=at)
        body = {"uri": graph.uri, "name": tag.name, "graph_commit_id": tag.commit}
        return body if tag.actor is None else {**body, "actor_id": tag.actor}

    with exchange.admitted(_NAME_BYTES):
        return await exchange.write(work)


@operation(
    "DELETE",
    f"{GRAPH}/tags/{{name}}",
    answers=(TagDeleteOutput,),
    headers=(DEADLINE,),
    problems=_WRITES,
)
async def delete_tag(exchange: Exchange) -> Response:
    """Delete a tag. Its commit stays until cleanup removes it."""
    name = parse_tag_name(exchange.names["name"].strip())
    exchange.require(Action.BRANCH_DELETE, target_branch=name)

    def work(graph: Graph) -> Any:
        graph.tags.delete(name)
        return {"uri": graph.uri, "name": name}

    with exchange.admitted(_NAME_BYTES):
        return await exchange.write(work)
