"""What ``revert`` and ``cherry-pick`` have in common: one commit, applied to a branch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import click

from omnigraph.cli.address import announce, open_to_read, open_to_write
from omnigraph.cli.changes import decision_options, find_resolutions, picked_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.cli.invocation import Invocation

__all__ = ["pick", "pick_options"]

# What is being done, what was done, and where.
_WORDS = {
    "revert": ("reverting", "reverted", "on"),
    "cherry-pick": ("picking", "picked", "onto"),
}


def pick_options(flag: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``COMMIT``, the branch under ``flag``, how conflicts are decided, a message."""

    def declare(command: Callable[..., Any]) -> Callable[..., Any]:
        command = click.option("--message", metavar="TEXT", help="What the commit says of itself.")(
            command
        )
        command = decision_options(command)
        command = click.option(
            flag, "branch", default="main", show_default=True, help="The branch to change."
        )(command)
        return click.argument("commit_id", metavar="COMMIT")(command)

    return declare


def pick(
    call: Invocation,
    verb: Literal["revert", "cherry-pick"],
    *,
    commit_id: str,
    branch: str,
    resolve: str | None,
    preview: bool,
    **how: Any,
) -> None:
    """Apply a commit, forwards or backwards, and tell what became of it."""
    how |= {"resolutions": find_resolutions(resolve), "preview": preview, "actor": call.actor}
    with open_to_read(call) if preview else open_to_write(call) as graph:
        if not preview:
            announce(call, verb, graph.uri)
        if verb == "revert":
            result = graph.revert(commit_id, branch=branch, **how)
        else:
            result = graph.cherry_pick(commit_id, into=branch, **how)
    doing, done, where = _WORDS[verb]
    what = f"{result.picked.id} {where} {branch}"
    body = result.to_json()
    call.answer(body, picked_lines(body, f"{done} {what}", f"{doing} {what}"))
