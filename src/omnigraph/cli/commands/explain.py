"""``omnigraph explain``."""

from __future__ import annotations

import sys

import click

from omnigraph.cli.address import open_to_read
from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.request_options import QueryArguments, query_arguments
from omnigraph.cli.targets import find_target, target_options
from omnigraph.cli.terminal import adapt_drawing

__all__ = ["command"]


@verb(
    "explain",
    examples=(
        "omnigraph explain friends --query people.gq --store people.omni",
        "omnigraph explain -e 'query q() { match { $p: Person } return { count(*) as n } }'",
    ),
)
@query_arguments(params=False)
@target_options
@click.option(
    "--traversal", type=click.Choice(["csr", "indexed"]), help="Plan for this way of reading edges."
)
@click.pass_obj
def command(
    call: Invocation,
    *,
    query: QueryArguments,
    branch: str | None,
    at: str | None,
    traversal: str | None,
) -> None:
    """Show the plan of a read query without reading data.

    NAME selects one of several queries in the text. Every operator is shown with its inputs, the
    filters pushed down to the tables, its index or why it uses none, and the estimated rows.
    """
    text = query.text
    target = find_target(branch, at)
    with open_to_read(call) as graph:
        found = graph.at(target).explain(
            text.text, name=query.name, source_name=text.name, traversal=traversal
        )
        call.print_result(found.to_json(), adapt_drawing(str(found).splitlines(), sys.stdout))
