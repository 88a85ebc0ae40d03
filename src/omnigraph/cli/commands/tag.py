"""``omnigraph tag``."""

from __future__ import annotations

import click

from omnigraph.api.refs import damage_to_json
from omnigraph.cli.address import open_to_read, open_to_write, warn_of_damage
from omnigraph.cli.invocation import Invocation, verb, verb_group
from omnigraph.cli.render import Rows
from omnigraph.runtime.clock import format_micros

__all__ = ["command"]


@verb_group("tag")
def command() -> None:
    """Name commits: a tag never moves, and cleanup keeps its commit."""


@verb(
    "create",
    writes=True,
    examples=(
        "omnigraph tag create v1 --store people.omni",
        "omnigraph tag create before-import --at main@v17 --store people.omni",
    ),
)
@click.argument("name")
@click.option(
    "--at",
    default="main",
    show_default=True,
    metavar="TARGET",
    help="The commit: a branch, commit id, tag, BRANCH@TIME or BRANCH@vN.",
)
@click.pass_obj
def create(call: Invocation, name: str, at: str) -> None:
    """Create the tag NAME."""
    with open_to_write(call) as graph:
        tag = graph.tags.create(name, at=at)
        body = {"uri": graph.uri, "name": tag.name, "graph_commit_id": tag.commit}
        if tag.actor is not None:
            body["actor_id"] = tag.actor
        call.print_result(body, [f"tagged {tag.commit} as {name}"])


@verb("list", tabular=True, examples=("omnigraph tag list people.omni",))
@click.argument("uri", required=False)
@click.pass_obj
def list_(call: Invocation, uri: str | None) -> None:
    """List the tags with their commits, by name."""
    with open_to_read(call, uri) as graph:
        found = graph.tags.list()
    body = {
        "tags": [
            {
                "name": tag.name,
                "graph_commit_id": tag.commit,
                "created_at": tag.created_at_micros,
                "actor_id": tag.actor,
            }
            for tag in found
        ],
        **damage_to_json(found.damaged),
    }
    warn_of_damage(call, found.damaged)
    rows = [
        (tag.name, tag.commit, format_micros(tag.created_at_micros), tag.actor or "")
        for tag in found
    ]
    heads = ("tag", "commit", "created", "by")
    call.print_rows(body, Rows(heads, rows, {"row_count": len(rows)}))


@verb("delete", writes=True, examples=("omnigraph tag delete v1 --store people.omni",))
@click.argument("name")
@click.pass_obj
def delete(call: Invocation, name: str) -> None:
    """Delete the tag NAME. Retention decides how long the commit is kept."""
    with open_to_write(call) as graph:
        graph.tags.delete(name)
        call.print_result({"uri": graph.uri, "name": name}, [f"deleted tag {name}"])


for each in (create, list_, delete):
    command.add_command(each)
