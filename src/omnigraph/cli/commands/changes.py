"""``omnigraph changes``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from omnigraph.api.change_json import change_to_json
from omnigraph.cli.address import open_to_read
from omnigraph.cli.atomic_files import write_atomically
from omnigraph.cli.changes import (
    change_lines,
    filter_options,
    json_list,
    schema_change_line,
)
from omnigraph.cli.commits import cause_line
from omnigraph.cli.invocation import Invocation, verb, verb_group
from omnigraph.cli.terminal import write_lines
from omnigraph.runtime.limits import FEED_COMMITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from omnigraph.api.change_pages import FeedPage
    from omnigraph.api.graph import Graph

__all__ = ["command"]


@verb_group("changes")
def command() -> None:
    """Follow the changes of a branch."""


@verb(
    "poll",
    examples=(
        "omnigraph changes poll --store people.omni",
        "omnigraph changes poll --start beginning --json --store people.omni",
        "omnigraph changes poll --cursor eJyrVk… --store people.omni",
    ),
)
@click.option("--branch", default="main", show_default=True, help="The branch.")
@click.option("--cursor", help="Continue after an earlier poll.")
@click.option("--start", metavar="POSITION", help="now (the default), beginning or after:COMMIT.")
@click.option("--limit", type=int, metavar="N", help="Page size in changes.")
@click.option(
    "--commits",
    type=int,
    default=FEED_COMMITS,
    show_default=True,
    metavar="N",
    help="At most N commits.",
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
    """List the commits of a branch with their changes, oldest first.

    The cursor is printed last, after all changes before it: store it, and the next poll continues
    there.
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
        blocks = feed.blocks(cursor=cursor, start=start)
        if call.json:
            write_lines(json_list({}, "blocks", blocks, feed.end))
            return
        write_lines(_block_lines(blocks))
        write_lines(f"{name}: {json.dumps(value)}" for name, value in feed.end().items())


class _Feed:
    """A poll over several pages; a commit split over pages is one block."""

    def __init__(self, graph: Graph, request: dict[str, Any]) -> None:
        self._graph = graph
        self._request = request
        self._last: FeedPage | None = None

    def blocks(self, **start: Any) -> Iterator[dict[str, Any]]:
        pending: dict[str, Any] | None = None
        for page in self._pages(start):
            for block in page.blocks:
                changes = [change_to_json(change) for change in block.changes]
                if pending is not None and pending["cause"]["graph_commit_id"] == block.commit.id:
                    pending["changes"] += changes
                    continue
                if pending is not None:
                    yield pending
                pending = {**block.to_json(), "changes": changes}
        if pending is not None:
            yield pending

    def _pages(self, start: dict[str, Any]) -> Iterator[FeedPage]:
        """Yield pages up to the head of the branch, or the requested number of commits."""
        listed: set[str] = set()
        position = start
        while True:
            page = self._last = self._graph.changes.poll(**self._request, **position)
            yield page
            listed |= {block.commit.id for block in page.blocks}
            if page.next_page_token is not None:
                position = {"page_token": page.next_page_token}
            elif page.caught_up or len(listed) >= self._request["commits"]:
                return
            else:
                position = {"cursor": page.cursor}

    def end(self) -> dict[str, Any]:
        """Return the fields after the last block."""
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
@click.option("--branch", default="main", show_default=True, help="The branch.")
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
    """Export a whole branch, with a cursor that continues after it.

    The file is durable before the cursor is printed.
    """
    with open_to_read(call) as graph:
        found = graph.changes.baseline(branch=branch, kinds=kinds, types=types, ops=ops)
        write_atomically(Path(out), found.records())
        body = found.to_json()
    call.print_result(body, (f"{name}: {value}" for name, value in body.items()))


for each in (poll, baseline):
    command.add_command(each)
