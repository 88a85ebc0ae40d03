"""What ``revert`` and ``cherry-pick`` have in common: one commit, applied to a branch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import click

from omnigraph.cli.address import announce, open_to_read, open_to_write
from omnigraph.cli.changes import decision_options, find_resolutions, merge_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.cli.invocation import Invocation

__all__ = ["pick", "pick_options"]


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
    how |= {"resolutions": find_resolutions(resolve), "preview": preview}
    with open_to_read(call) if preview else open_to_write(call) as graph:
        if not preview:
            announce(call, verb, graph.uri)
        if verb == "revert":
            result = graph.revert(commit_id.upper(), branch=branch, actor=call.actor, **how)
            done, would = f"reverted {result.picked.id} on", f"reverting {result.picked.id} on"
        else:
            result = graph.cherry_pick(commit_id.upper(), into=branch, actor=call.actor, **how)
            done, would = f"picked {result.picked.id} onto", f"picking {result.picked.id} onto"
    body = result.to_json()
    told = f"{done} {branch}: {body['commit'] or 'nothing to change'}"
    call.answer(body, [f"{would} {branch} would change:" if preview else told, *merge_lines(body)])
