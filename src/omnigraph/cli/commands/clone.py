"""``omnigraph clone``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import omnigraph
from omnigraph.cli.address import announce
from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.render import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnigraph.lifecycle.clone.clone import CloneResult

__all__ = ["command"]


@verb(
    "clone",
    stored=False,
    examples=(
        "omnigraph clone people.omni /backup/people.omni",
        "omnigraph clone people.omni s3://bucket/people.omni --incremental",
        "omnigraph clone s3://bucket/people.omni review.omni --branch review",
    ),
)
@click.argument("source")
@click.argument("target")
@click.option(
    "--branch",
    "branches",
    multiple=True,
    metavar="NAME",
    help="Only this branch and main; repeatable.",
)
@click.option("--incremental", is_flag=True, help="Update an existing copy.")
@click.pass_obj
def command(
    call: Invocation, source: str, target: str, branches: Sequence[str], incremental: bool
) -> None:
    """Copy the graph SOURCE to TARGET, on disk or in a bucket, with its whole history.

    Concurrent writes are safe. An interrupted clone resumes where it stopped; every version is
    verified before it is referenced. The copy has the same graph id.
    """
    announce(call, "clone", target)
    result = omnigraph.clone(source, target, branches=branches, incremental=incremental)
    call.print_result(result.to_json(), [_line(result)])


def _line(result: CloneResult) -> str:
    if not result.commits:
        return f"{result.target} was up to date"
    commits, files = plural(result.commits, "commit"), plural(result.files, "file")
    return f"copied {commits} in {files}, {result.bytes} bytes, to {result.target}"
