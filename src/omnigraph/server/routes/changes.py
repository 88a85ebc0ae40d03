"""Changes: the feed, one commit, two targets, one entity; baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.errors import Forbidden, NotFound
from omnigraph.server.headers import DEADLINE
from omnigraph.server.names import parse_branch, parse_commit, parse_target
from omnigraph.server.operations import GRAPH, JSON, NDJSON, operation
from omnigraph.server.wire.history import (
    BaselineInput,
    ChangeFeedOutput,
    CommitChangesOutput,
    CommitChangesQuery,
    DiffOutput,
    DiffQuery,
    EntityHistoryOutput,
    FeedQuery,
    HistoryQuery,
)

if TYPE_CHECKING:
    from starlette.responses import Response

    from omnigraph.graph.facade import EmbeddedGraph
    from omnigraph.history.diff import SnapshotDiff
    from omnigraph.server.exchange import Exchange
    from omnigraph.server.response_stream import ResponseStream

__all__ = ["get_baseline", "get_commit_changes", "get_diff", "get_entity_history", "poll_changes"]

_PROBLEMS = (400, 409, 410, 413)


@operation(
    "GET",
    f"{GRAPH}/commits/{{commit_id}}/changes",
    query=CommitChangesQuery,
    answers=(CommitChangesOutput,),
    headers=(DEADLINE,),
    problems=_PROBLEMS,
)
async def get_commit_changes(exchange: Exchange) -> Response:
    """Return a page of the changes of one commit.

    A commit of an unreadable branch counts as missing.
    """
    asked: CommitChangesQuery = exchange.query
    commit_id = parse_commit(exchange.names["commit_id"])

    def work(graph: EmbeddedGraph) -> Any:
        try:
            return graph.changes.of_commit(
                commit_id,
                limit=asked.limit,
                page_token=asked.page_token,
                kinds=asked.kind,
                types=asked.type,
                ops=asked.op,
            ).to_json()
        except Forbidden:
            raise NotFound("commit.missing", f"commit {commit_id} does not exist") from None

    return await exchange.read(work)


@operation(
    "GET",
    f"{GRAPH}/changes",
    query=FeedQuery,
    answers=(ChangeFeedOutput,),
    headers=(DEADLINE,),
    problems=_PROBLEMS,
)
async def poll_changes(exchange: Exchange) -> Response:
    """Return the next page of a branch's feed."""
    asked: FeedQuery = exchange.query
    branch = parse_branch(asked.branch)
    return await exchange.read(
        lambda graph: graph.changes.poll(
            branch=branch,
            cursor=asked.cursor,
            start=asked.start,
            page_token=asked.page_token,
            limit=asked.limit,
            kinds=asked.kind,
            types=asked.type,
            ops=asked.op,
        ).to_json()
    )


@operation(
    "POST",
    f"{GRAPH}/changes/baseline",
    body=BaselineInput,
    body_optional=True,
    gives=NDJSON,
    headers=(DEADLINE,),
    problems=(400, 413, 503),
)
async def get_baseline(exchange: Exchange) -> Response:
    """Return the snapshot of a branch's head as JSON lines; the last one holds the cursor that
    continues from it.
    """
    asked: BaselineInput = exchange.body
    branch = parse_branch(asked.branch)

    def work(graph: EmbeddedGraph, out: ResponseStream) -> None:
        baseline = graph.changes.baseline(
            branch=branch, kinds=asked.kind, types=asked.type, ops=asked.op
        )
        for lines in baseline.lines():
            out.write(lines)

    return await exchange.stream(work, media_type=NDJSON)


@operation(
    "GET",
    f"{GRAPH}/diff",
    query=DiffQuery,
    answers=(DiffOutput,),
    headers=(DEADLINE,),
    problems=_PROBLEMS,
)
async def get_diff(exchange: Exchange) -> Response:
    """Return the difference between two targets."""
    asked: DiffQuery = exchange.query
    before, after = parse_target(None, asked.before), parse_target(None, asked.after)

    def compare(graph: EmbeddedGraph) -> SnapshotDiff:
        return graph.diff(before, after, kinds=asked.kind, types=asked.type, ops=asked.op)

    def count(graph: EmbeddedGraph) -> Any:
        found = compare(graph)
        return {**found.head_json(), "summary": found.summary_json()}

    def respond(graph: EmbeddedGraph, out: ResponseStream) -> None:
        for piece in compare(graph).json_chunks():
            out.write(piece)

    if asked.summary:
        return await exchange.read(count)
    return await exchange.stream(respond, media_type=JSON)


@operation(
    "GET",
    f"{GRAPH}/entities/{{kind}}/{{type}}/{{id}}/history",
    query=HistoryQuery,
    answers=(EntityHistoryOutput,),
    headers=(DEADLINE,),
    problems=_PROBLEMS,
)
async def get_entity_history(exchange: Exchange) -> Response:
    """List the commits that changed one entity, newest first."""
    asked: HistoryQuery = exchange.query
    names = exchange.names
    target = parse_target(asked.branch, asked.snapshot)

    def work(graph: EmbeddedGraph) -> Any:
        at = graph.at(target)
        entity = at.catalog.entity(names["type"])
        if entity is None or entity.kind.value != names["kind"]:
            raise NotFound(
                "type.missing",
                f"the schema has no {names['kind'][:20]} type {names['type'][:80]!r}",
            )
        limit = 1_000 if asked.limit is None else asked.limit
        return graph.blame(names["type"], names["id"], target=target, limit=limit).to_json()

    return await exchange.read(work)
