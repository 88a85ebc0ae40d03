"""Apply a single commit to a branch, for ``revert`` and ``cherry-pick``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import click

from omnigraph.cli.address import announce, open_to_read, open_to_write
from omnigraph.cli.changes import find_resolutions, picked_lines, resolution_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.cli.invocation import Invocation

__all__ = ["pick", "pick_options"]

# Progressive form, past form and preposition for messages.
_VERB_FORMS = {
    "revert": ("reverting", "reverted", "on"),
    "cherry-pick": ("picking", "picked", "onto"),
}


def pick_options(flag: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare ``COMMIT``, the branch as ``flag``, the resolution flags and ``--message``."""

    def declare(command: Callable[..., Any]) -> Callable[..., Any]:
        command = click.option("--message", metavar="TEXT", help="The commit message.")(command)
        command = resolution_options(command)
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
    """Apply or revert a commit and print the result."""
    how |= {"resolutions": find_resolutions(resolve), "preview": preview, "actor": call.actor}
    with open_to_read(call) if preview else open_to_write(call) as graph:
        if not preview:
            announce(call, verb, graph.uri)
        if verb == "revert":
            result = graph.revert(commit_id, branch=branch, **how)
        else:
            result = graph.cherry_pick(commit_id, into=branch, **how)
    doing, done, where = _VERB_FORMS[verb]
    what = f"{result.picked.id} {where} {branch}"
    body = result.to_json()
    call.print_result(body, picked_lines(body, f"{done} {what}", f"{doing} {what}"))
