"""``omnigraph branch``."""

from __future__ import annotations

import click

from omnigraph.api.refs import damage_to_json
from omnigraph.cli.address import (
    announce,
    open_to_read,
    open_to_write,
    require_consent,
    warn_of_damage,
)
from omnigraph.cli.changes import find_resolutions, merge_lines, resolution_options
from omnigraph.cli.invocation import Invocation, verb, verb_group
from omnigraph.cli.render import Rows
from omnigraph.runtime.clock import format_micros

__all__ = ["command"]


@verb_group("branch")
def command() -> None:
    """Create, list, merge, reset and delete branches of the whole graph."""


@verb(
    "create",
    writes=True,
    examples=(
        "omnigraph branch create review --store people.omni",
        "omnigraph branch create fix/typo --from v1.2 --store people.omni",
    ),
)
@click.argument("name")
@click.option(
    "--from",
    "source",
    default="main",
    show_default=True,
    metavar="TARGET",
    help="The base: a branch, commit id, tag, BRANCH@TIME or BRANCH@vN.",
)
@click.pass_obj
def create(call: Invocation, name: str, source: str) -> None:
    """Create the branch NAME with one small write, independent of the size of the graph."""
    with open_to_write(call) as graph:
        announce(call, "branch create", graph.uri)
        ref = graph.branches.create(name, source=source)
        body = {
            "uri": graph.uri,
            "from": source,
            "name": ref.name,
            "graph_commit_id": ref.fork_commit,
        }
        if graph.actor is not None:
            body["actor_id"] = graph.actor
        call.print_result(body, [f"created branch {name} from {source} at {ref.fork_commit}"])


@verb("list", tabular=True, examples=("omnigraph branch list people.omni",))
@click.argument("uri", required=False)
@click.pass_obj
def list_(call: Invocation, uri: str | None) -> None:
    """List the open branches with their heads, by name."""
    with open_to_read(call, uri) as graph:
        found = graph.branches.list()
    body = {
        "branches": [info.ref.name for info in found],
        "heads": {info.ref.name: info.head.commit.id for info in found},
        **damage_to_json(found.damaged),
    }
    warn_of_damage(call, found.damaged)
    rows = [
        (info.ref.name, info.head.commit.id, format_micros(info.head.commit.time_micros))
        for info in found
    ]
    call.print_rows(body, Rows(("branch", "head", "time"), rows, {"row_count": len(rows)}))


@verb(
    "delete",
    writes=True,
    destroys=True,
    examples=("omnigraph branch delete review --store people.omni",),
)
@click.argument("name")
@click.option("--force", is_flag=True, help="Delete even if branches forked from it exist.")
@click.pass_obj
def delete(call: Invocation, name: str, force: bool) -> None:
    """Delete the branch NAME. Commits of tags and other branches stay readable."""
    with open_to_write(call) as graph:
        announce(call, "branch delete", graph.uri)
        require_consent(call, graph.uri, action=f"deleting branch {name}")
        graph.branches.delete(name, force=force)
        body = {"uri": graph.uri, "name": name}
        if graph.actor is not None:
            body["actor_id"] = graph.actor
        call.print_result(body, [f"deleted branch {name}"])


@verb(
    "merge",
    writes=True,
    examples=(
        "omnigraph branch merge review --store people.omni --as ada",
        "omnigraph branch merge review --preview --json --store people.omni",
        "omnigraph branch merge review --resolve decisions.json --delete-branch",
    ),
)
@click.argument("source")
@click.option("--into", default="main", show_default=True, help="The branch to change.")
@resolution_options
@click.option("--message", metavar="TEXT", help="The commit message.")
@click.option("--delete-branch", is_flag=True, help="Delete SOURCE after the merge.")
@click.pass_obj
def merge(
    call: Invocation,
    *,
    source: str,
    into: str,
    preview: bool,
    strategy: str | None,
    resolve: str | None,
    message: str | None,
    delete_branch: bool,
) -> None:
    """Merge the branch SOURCE into another: one commit, entity by entity, property by property."""
    resolutions = find_resolutions(resolve)
    with open_to_read(call) if preview else open_to_write(call) as graph:
        if not preview:
            announce(call, "branch merge", graph.uri)
        result = graph.merge(
            source,
            into=into,
            preview=preview,
            strategy=strategy,
            resolutions=resolutions,
            delete_branch=delete_branch,
            actor=call.actor,
            message=message,
        )
    body = result.to_json()
    summary = f"{source} into {into}: {body['outcome']}"
    if result.commit is not None:
        summary += f" as {result.commit.id}"
    done = f"would merge {summary}" if preview else f"merged {summary}"
    if result.conflicts:
        done = f"would not merge {source} into {into}: {len(result.conflicts)} conflicts to resolve"
    call.print_result(body, [done, *merge_lines(body)])
    if result.branch_delete_error is not None:
        call.notice(f"warning: {source} was not deleted: {result.branch_delete_error}")


@verb(
    "reset",
    writes=True,
    examples=(
        "omnigraph branch reset main --to v1.2 --store people.omni --as ada",
        "omnigraph branch reset review --to review@2026-11-01T12:00:00Z --store people.omni",
    ),
)
@click.argument("name")
@click.option(
    "--to",
    required=True,
    metavar="TARGET",
    help="The new content: a branch, commit id, tag, BRANCH@TIME or BRANCH@vN.",
)
@click.option("--message", metavar="TEXT", help="The commit message.")
@click.pass_obj
def reset(call: Invocation, name: str, to: str, message: str | None) -> None:
    """Reset the branch NAME to another snapshot, as a new commit that keeps the history."""
    with open_to_write(call) as graph:
        announce(call, "branch reset", graph.uri)
        result = graph.branches.reset(name, to=to, actor=call.actor, message=message)
    done = result.commit.id if result.commit else "already up to date"
    call.print_result(result.to_json(), [f"reset {name} to {result.snapshot.id}: {done}"])


for each in (create, list_, merge, reset, delete):
    command.add_command(each)
