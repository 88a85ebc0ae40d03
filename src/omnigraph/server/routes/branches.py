"""Branches: list, create, delete, reset, merge; revert and cherry-pick."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from omnigraph.api.refs import damage_to_json
from omnigraph.policy.actions import Action
from omnigraph.server.headers import DEADLINE
from omnigraph.server.names import parse_branch, parse_commit, parse_condition, parse_target
from omnigraph.server.operations import GRAPH, operation
from omnigraph.server.wire.history import (
    BranchCreateInput,
    BranchCreateOutput,
    BranchDeleteOutput,
    BranchDeleteQuery,
    BranchesOutput,
    BranchMergeInput,
    BranchMergeOutput,
    BranchResetInput,
    BranchResetOutput,
    PickInput,
    PickOutput,
)

if TYPE_CHECKING:
    from starlette.responses import Response

    from omnigraph.api.graph import Graph
    from omnigraph.server.exchange import Exchange

__all__ = [
    "cherry_pick",
    "create_branch",
    "delete_branch",
    "list_branches",
    "merge_branches",
    "reset_branch",
    "revert",
]

_WRITES = (400, 404, 409, 412, 413, 429, 503, 504)
# The admission size of a small write, whatever its body.
_NAME_BYTES = 256


@operation("GET", f"{GRAPH}/branches", answers=(BranchesOutput,), headers=(DEADLINE,))
async def list_branches(exchange: Exchange) -> Response:
    """List the open branches with their heads, by name."""

    def work(graph: Graph) -> Any:
        found = graph.branches.list()
        return {
            "branches": [info.ref.name for info in found],
            "heads": {info.ref.name: info.head.commit.id for info in found},
            **damage_to_json(found.damaged),
        }

    return await exchange.read(work)


@operation(
    "POST",
    f"{GRAPH}/branches",
    body=BranchCreateInput,
    answers=(BranchCreateOutput,),
    headers=(DEADLINE,),
    problems=_WRITES,
)
async def create_branch(exchange: Exchange) -> Response:
    """Create a branch. The cost is one small write, independent of the size of the graph."""
    asked: BranchCreateInput = exchange.body
    name = parse_branch(asked.name)
    source = parse_target(None, "main" if asked.source is None else asked.source)

    def work(graph: Graph) -> Any:
        ref = graph.branches.create(name, source=source)
        body = {
            "uri": graph.uri,
            "from": source,
            "name": ref.name,
            "graph_commit_id": ref.fork_commit,
        }
        return _with_actor(body, exchange)

    with exchange.admitted(_NAME_BYTES):
        return await exchange.write(work)


@operation(
    "DELETE",
    f"{GRAPH}/branches/{{branch}}",
    query=BranchDeleteQuery,
    answers=(BranchDeleteOutput,),
    headers=(DEADLINE,),
    problems=_WRITES,
)
async def delete_branch(exchange: Exchange) -> Response:
    """Delete a branch. Commits that tags or other branches retain stay readable."""
    name = parse_branch(exchange.names["branch"])
    force = exchange.query.force
    exchange.require(Action.BRANCH_DELETE, target_branch=name)

    def work(graph: Graph) -> Any:
        graph.branches.delete(name, force=force)
        return _with_actor({"uri": graph.uri, "name": name}, exchange)

    with exchange.admitted(_NAME_BYTES):
        return await exchange.write(work)


@operation(
    "POST",
    f"{GRAPH}/branches/{{branch}}/reset",
    body=BranchResetInput,
    answers=(BranchResetOutput,),
    headers=(DEADLINE,),
    problems=_WRITES,
)
async def reset_branch(exchange: Exchange) -> Response:
    """Restore the state of another target on a branch, as a new commit."""
    asked: BranchResetInput = exchange.body
    name, to = parse_branch(exchange.names["branch"]), parse_target(None, asked.to)
    if_commit = parse_condition(asked.if_commit)
    with exchange.admitted(_NAME_BYTES):
        return await exchange.write(
            lambda graph: graph.branches.reset(
                name, to=to, message=asked.message, if_commit=if_commit
            ).to_json()
        )


@operation(
    "POST",
    f"{GRAPH}/branches/merge",
    body=BranchMergeInput,
    answers=(BranchMergeOutput,),
    headers=(DEADLINE,),
    problems=_WRITES,
)
async def merge_branches(exchange: Exchange) -> Response:
    """Merge a branch into another, entity by entity and property by property, as one commit."""
    asked: BranchMergeInput = exchange.body
    source, target = parse_branch(asked.source), parse_branch(asked.target)
    resolutions = _resolutions(asked.resolutions)
    if_commit = parse_condition(asked.if_commit)

    def work(graph: Graph) -> Any:
        return graph.merge(
            source,
            into=target,
            preview=asked.preview,
            strategy=asked.strategy,
            resolutions=resolutions,
            delete_branch=asked.delete_branch,
            message=asked.message,
            if_commit=if_commit,
        ).to_json()

    if asked.preview:
        return await exchange.read(work)
    with exchange.admitted(_NAME_BYTES):
        return await exchange.write(work)


@operation(
    "POST",
    f"{GRAPH}/revert",
    body=PickInput,
    answers=(PickOutput,),
    headers=(DEADLINE,),
    problems=_WRITES,
)
async def revert(exchange: Exchange) -> Response:
    """Undo the changes of one commit on a branch; later changes are kept."""
    commit, branch, choices = _pick(exchange)

    def work(graph: Graph) -> Any:
        return graph.revert(commit, branch=branch, **choices).to_json()

    if exchange.body.preview:
        return await exchange.read(work)
    with exchange.admitted(_NAME_BYTES):
        return await exchange.write(work)


@operation(
    "POST",
    f"{GRAPH}/cherry-pick",
    body=PickInput,
    answers=(PickOutput,),
    headers=(DEADLINE,),
    problems=_WRITES,
)
async def cherry_pick(exchange: Exchange) -> Response:
    """Apply the changes of one commit of another branch."""
    commit, branch, choices = _pick(exchange)

    def work(graph: Graph) -> Any:
        return graph.cherry_pick(commit, into=branch, **choices).to_json()

    if exchange.body.preview:
        return await exchange.read(work)
    with exchange.admitted(_NAME_BYTES):
        return await exchange.write(work)


def _pick(exchange: Exchange) -> tuple[str, str, dict[str, Any]]:
    asked: PickInput = exchange.body
    choices = {
        "preview": asked.preview,
        "strategy": asked.strategy,
        "resolutions": _resolutions(asked.resolutions),
        "message": asked.message,
        "if_commit": parse_condition(asked.if_commit),
    }
    return parse_commit(asked.commit), parse_branch(asked.branch), choices


def _resolutions(given: Any) -> Any:
    return None if given is None else msgspec.to_builtins(given)


def _with_actor(body: dict[str, Any], exchange: Exchange) -> dict[str, Any]:
    return body if exchange.actor is None else {**body, "actor_id": exchange.actor}
