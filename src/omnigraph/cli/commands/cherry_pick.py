"""``omnigraph cherry-pick``."""

from __future__ import annotations

import click

from omnigraph.cli.address import announce, open_to_read, open_to_write
from omnigraph.cli.changes import decision_options, find_resolutions, picked_lines
from omnigraph.cli.invocation import Invocation, verb

__all__ = ["command"]


@verb(
    "cherry-pick",
    writes=True,
    examples=(
        "omnigraph cherry-pick 01K5T3V9QX8R2M4N6P7S9W0Y1Z --store people.omni --as ada",
        "omnigraph cherry-pick 01K5T3V9QX8R2M4N6P7S9W0Y1Z --into review --store people.omni",
    ),
)
@click.argument("commit_id", metavar="COMMIT")
@click.option("--into", default="main", show_default=True, help="The branch to change.")
@decision_options
@click.option("--message", metavar="TEXT", help="What the commit says of itself.")
@click.pass_obj
def command(
    call: Invocation,
    *,
    commit_id: str,
    into: str,
    preview: bool,
    strategy: str | None,
    resolve: str | None,
    message: str | None,
) -> None:
    """Do on a branch what COMMIT did elsewhere, as a new commit."""
    resolutions = find_resolutions(resolve)
    with open_to_read(call) if preview else open_to_write(call) as graph:
        if not preview:
            announce(call, "cherry-pick", graph.uri)
        result = graph.cherry_pick(
            commit_id,
            into=into,
            preview=preview,
            strategy=strategy,
            resolutions=resolutions,
            actor=call.actor,
            message=message,
        )
    body = result.to_json()
    done = f"picked {result.picked.id} onto {into}"
    doing = f"picking {result.picked.id} onto {into}"
    call.answer(body, picked_lines(body, done, doing))
