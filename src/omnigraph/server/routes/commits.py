"""Commits."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from omnigraph.api.commit_listing import CommitFilter
from omnigraph.api.commits import commit_to_json
from omnigraph.errors import InvalidInput
from omnigraph.runtime.clock import datetime_to_micros
from omnigraph.server.headers import DEADLINE
from omnigraph.server.names import parse_commit, parse_target
from omnigraph.server.operations import GRAPH, operation
from omnigraph.server.wire.history import CommitOutput, CommitsOutput, CommitsQuery

if TYPE_CHECKING:
    from starlette.responses import Response

    from omnigraph.api.graph import Graph
    from omnigraph.server.exchange import Exchange

__all__ = ["get_commit", "list_commits"]


@operation(
    "GET",
    f"{GRAPH}/commits",
    query=CommitsQuery,
    answers=(CommitsOutput,),
    headers=(DEADLINE,),
    problems=(400, 410),
)
async def list_commits(exchange: Exchange) -> Response:
    """List the commits of a branch, newest first, with filters and pages."""
    asked: CommitsQuery = exchange.query
    wanted = CommitFilter(
        parse_target(asked.branch, asked.snapshot),
        asked.actor,
        asked.kind,
        _parse_time(asked.since),
        _parse_time(asked.until),
        asked.limit,
        asked.page_token,
        asked.hide_maintenance,
    )
    return await exchange.read(lambda graph: graph.commits.list(wanted).to_json())


@operation(
    "GET",
    f"{GRAPH}/commits/{{commit_id}}",
    answers=(CommitOutput,),
    headers=(DEADLINE,),
    problems=(400,),
)
async def get_commit(exchange: Exchange) -> Response:
    """Return one commit."""
    commit_id = parse_commit(exchange.names["commit_id"])

    def work(graph: Graph) -> Any:
        return commit_to_json(graph.commits.show(commit_id))

    return await exchange.read(work)


def _parse_time(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        moment = dt.datetime.fromisoformat(text.strip())
        return datetime_to_micros(moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC))
    except (ValueError, OverflowError):
        raise InvalidInput(
            "commits.bad_time",
            f"{text[:80]!r} is not a time",
            remedy="write 2026-11-01 or 2026-11-01T12:00:00Z",
        ) from None
