"""``omnigraph revert``."""

from __future__ import annotations

import click

from omnigraph.cli.address import announce, open_to_read, open_to_write
from omnigraph.cli.changes import decision_options, find_resolutions, picked_lines
from omnigraph.cli.invocation import Invocation, verb

__all__ = ["command"]


@verb(
    "revert",
    writes=True,
    examples=(
        "omnigraph revert 01K5T3V9QX8R2M4N6P7S9W0Y1Z --store people.omni --as ada",
        "omnigraph revert 01K5T3V9QX8R2M4N6P7S9W0Y1Z --preview --store people.omni",
    ),
)
@click.argument("commit_id", metavar="COMMIT")
@click.option("--branch", default="main", show_default=True, help="The branch to change.")
@decision_options
@click.option("--message", metavar="TEXT", help="What the commit says of itself.")
@click.pass_obj
def command(
    call: Invocation,
    *,
    commit_id: str,
    branch: str,
    preview: bool,
    strategy: str | None,
    resolve: str | None,
    message: str | None,
) -> None:
    """Undo what COMMIT did, as a new commit; what happened since stays."""
    resolutions = find_resolutions(resolve)
    with open_to_read(call) if preview else open_to_write(call) as graph:
        if not preview:
            announce(call, "revert", graph.uri)
        result = graph.revert(
            commit_id,
            branch=branch,
            preview=preview,
            strategy=strategy,
            resolutions=resolutions,
            actor=call.actor,
            message=message,
        )
    body = result.to_json()
    done = f"reverted {result.picked.id} on {branch}"
    doing = f"reverting {result.picked.id} on {branch}"
    call.answer(body, picked_lines(body, done, doing))
