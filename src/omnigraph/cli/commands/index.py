"""``omnigraph index``."""

from __future__ import annotations

import sys

import click

from omnigraph.cli.address import announce, open_to_read, open_to_write
from omnigraph.cli.invocation import Invocation, verb, verb_group
from omnigraph.cli.render import Rows, page_of, table
from omnigraph.cli.targets import find_target, target_options

__all__ = ["command"]


@verb_group("index")
def command() -> None:
    """Build and list indexes, which speed up queries and never change results."""


@verb(
    "ensure",
    served=False,
    writes=True,
    examples=(
        "omnigraph index ensure people.omni",
        "omnigraph index ensure --type Paper --force --store papers.omni",
    ),
)
@click.argument("uri", required=False)
@click.option("--branch", default="main", show_default=True, help="The branch.")
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Only this type; repeatable.")
@click.option("--force", is_flag=True, help="Also build indexes that are not worthwhile.")
@click.pass_obj
def ensure(
    call: Invocation, uri: str | None, branch: str, types: tuple[str, ...], force: bool
) -> None:
    """Build missing indexes and add new rows to existing ones, as one commit."""
    with open_to_write(call, uri) as graph:
        announce(call, "index ensure", graph.uri)
        done = graph.ensure_indices(
            branch=branch, types=types or None, force=force, actor=call.actor
        )
    rows = [
        (each.type, each.property, each.kind.value, each.action.value, each.rows, each.reason)
        for each in done.outcomes
    ]
    commit = f"commit {done.commit.id}" if done.commit else "nothing to do"
    head = ("type", "property", "index", "done", "rows", "because")
    call.print_result(done.to_json(), [*table(head, rows, page_of(sys.stdout)), "", commit])


@verb(
    "list",
    served=False,
    tabular=True,
    examples=("omnigraph index list people.omni", "omnigraph index list --branch review"),
)
@click.argument("uri", required=False)
@target_options
@click.pass_obj
def list_(call: Invocation, uri: str | None, branch: str | None, at: str | None) -> None:
    """List the declared indexes, built or not, and how many rows each covers."""
    with open_to_read(call, uri) as graph:
        found = graph.at(find_target(branch, at)).indexes()
    rows = [
        (
            each.type,
            each.property,
            each.kind.value,
            each.lance_type or "",
            each.segments,
            each.covered_rows,
            each.uncovered_rows,
        )
        for each in found
    ]
    head = ("type", "property", "index", "built as", "segments", "covers", "leaves out")
    body = {"indexes": [each.to_json() for each in found]}
    call.print_rows(body, Rows(head, rows, {"row_count": len(rows)}))


for each in (ensure, list_):
    command.add_command(each)
