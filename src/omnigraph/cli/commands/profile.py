"""``omnigraph profile``."""

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
    "profile",
    examples=(
        "omnigraph profile friends --query people.gq --store people.omni \\",
        """    --params '{"name": "Ada"}'""",
    ),
)
@query_arguments(params=True)
@target_options
@click.option(
    "--traversal", type=click.Choice(["csr", "indexed"]), help="Use this way of reading edges."
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
    """Run a read query and show rows, time and bytes of every operator.

    NAME selects one of several queries in the text. The result rows are not shown. A new process
    starts with cold caches, so its times include all reads.
    """
    text, values = query.text, query.values
    target = find_target(branch, at)
    with open_to_read(call) as graph:
        found = graph.at(target).profile(
            text.text, values, name=query.name, source_name=text.name, traversal=traversal
        )
        lines = [
            *adapt_drawing(str(found).splitlines(), sys.stdout),
            f"{found.seconds or 0.0:.3f} s total",
        ]
        call.print_result(found.to_json(), lines)
