"""``omnigraph changes``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.address import open_to_read
from omnigraph.cli.changes import (
    change_lines,
    filter_options,
    json_list,
    schema_change_line,
)
from omnigraph.cli.commits import cause_line
from omnigraph.cli.durable import install
from omnigraph.cli.invocation import Invocation, verb, verb_group
from omnigraph.cli.terminal import write_lines
from omnigraph.operations.changes.wire import change_to_json
from omnigraph.runtime.limits import FEED_COMMITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from omnigraph.graph.facade import Graph
    from omnigraph.operations.changes.feed import FeedPage

__all__ = ["command"]


@verb_group("changes")
def command() -> None:
    """Follow what changes on a branch."""


@verb(
    "poll",
    examples=(
        "omnigraph changes poll --store people.omni",
        "omnigraph changes poll --start beginning --json --store people.omni",
        "omnigraph changes poll --cursor eJyrVk… --store people.omni",
    ),
)
@click.option("--branch", default="main", show_default=True, help="Whose changes.")
@click.option("--cursor", help="Go on behind what an earlier poll told.")
@click.option("--start", metavar="PLACE", help="now (the default), beginning or after:COMMIT.")
@click.option("--limit", type=int, metavar="N", help="So many changes are fetched at a time.")
@click.option(
    "--commits",
    type=int,
    default=FEED_COMMITS,
    show_default=True,
    metavar="N",
    help="At most so many commits.",
)
@filter_options
@click.pass_obj
def poll(
    call: Invocation,
    *,
    branch: str,
    cursor: str | None,
    start: str | None,
    limit: int | None,
    commits: int,
    kinds: Sequence[str],
    types: Sequence[str],
    ops: Sequence[str],
) -> None:
    """Tell the commits of a branch with their changes, oldest first.

    The cursor comes last, when everything before it has been told: keep it, and the next poll goes
    on there.
    """
    with open_to_read(call) as graph:
        feed = _Feed(
            graph,
            {
                "branch": branch,
                "limit": limit,
                "commits": commits,
                "kinds": kinds,
                "types": types,
                "ops": ops,
            },
        )
        told = feed.blocks(cursor=cursor, start=start)
        if call.json:
            write_lines(json_list({}, "blocks", told, feed.end))
            return
        write_lines(_block_lines(told))
        write_lines(f"{name}: {json.dumps(value)}" for name, value in feed.end().items())


class _Feed:
    """One poll, page after page; a commit that is spread over pages is one block."""

    def __init__(self, graph: Graph, request: dict[str, Any]) -> None:
        self._graph = graph
        self._request = request
        self._last: FeedPage | None = None

    def blocks(self, **start: Any) -> Iterator[dict[str, Any]]:
        waiting: dict[str, Any] | None = None
        for page in self._pages(start):
            for block in page.blocks:
                changes = [change_to_json(change) for change in block.changes]
                if waiting is not None and waiting["cause"]["graph_commit_id"] == block.commit.id:
                    waiting["changes"] += changes
                    continue
                if waiting is not None:
                    yield waiting
                waiting = {**block.to_json(), "changes": changes}
        if waiting is not None:
            yield waiting

    def _pages(self, start: dict[str, Any]) -> Iterator[FeedPage]:
        """Pages until the branch has been told, or as many commits as were asked for."""
        told: set[str] = set()
        place = start
        while True:
            page = self._last = self._graph.changes.poll(**self._request, **place)
            yield page
            told |= {block.commit.id for block in page.blocks}
            if page.next_page_token is not None:
                place = {"page_token": page.next_page_token}
            elif page.caught_up or len(told) >= self._request["commits"]:
                return
            else:
                place = {"cursor": page.cursor}

    def end(self) -> dict[str, Any]:
        """What is told behind the last block."""
        if self._last is None:
            return {}
        return {"cursor": self._last.cursor, "caught_up": self._last.caught_up}


def _block_lines(blocks: Iterator[dict[str, Any]]) -> Iterator[str]:
    for block in blocks:
        yield cause_line(block["cause"])
        for change in block.get("schema_changes", ()):
            yield schema_change_line(change)
        for change in block["changes"]:
            yield from change_lines(change)
        yield ""


@verb(
    "baseline",
    examples=("omnigraph changes baseline --out people.jsonl --store people.omni",),
)
@click.option("--out", required=True, metavar="PATH", help="The file to write.")
@click.option("--branch", default="main", show_default=True, help="Of which branch.")
@filter_options
@click.pass_obj
def baseline(
    call: Invocation,
    *,
    out: str,
    branch: str,
    kinds: Sequence[str],
    types: Sequence[str],
    ops: Sequence[str],
) -> None:
    """Write a branch out as a whole, with the cursor that goes on behind it.

    The file stands, durably, before the cursor is printed.
    """
    with open_to_read(call) as graph:
        found = graph.changes.baseline(branch=branch, kinds=kinds, types=types, ops=ops)
        install(Path(out), found.records())
        body = found.to_json()
    call.answer(body, (f"{name}: {value}" for name, value in body.items()))


for each in (poll, baseline):
    command.add_command(each)
