"""``omnigraph profile``."""

from __future__ import annotations

import sys

import click

from omnigraph.cli.address import open_to_read
from omnigraph.cli.inputs import find_params, find_query, params_options, query_options
from omnigraph.cli.invocation import Invocation, verb
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
@click.argument("name", required=False)
@query_options
@params_options
@target_options
@click.option(
    "--traversal", type=click.Choice(["csr", "indexed"]), help="Use this way of reading edges."
)
@click.pass_obj
def command(
    call: Invocation,
    *,
    name: str | None,
    query_file: str | None,
    query_string: str | None,
    params: str | None,
    params_file: str | None,
    branch: str | None,
    at: str | None,
    traversal: str | None,
) -> None:
    """Run a read query and show rows, time and bytes of every operator.

    NAME selects one of several queries in the text. The result rows are not shown. A new process
    starts with cold caches, so its times include all reads.
    """
    query = find_query(query_file, query_string)
    values = find_params(params, params_file)
    target = find_target(branch, at)
    with open_to_read(call) as graph:
        found = graph.at(target).profile(
            query.text, values, name=name, source_name=query.name, traversal=traversal
        )
        lines = [
            *adapt_drawing(str(found).splitlines(), sys.stdout),
            f"{found.seconds or 0.0:.3f} s total",
        ]
        call.print_result(found.to_json(), lines)
