"""``omnigraph profile``."""

from __future__ import annotations

import sys

import click

from omnigraph.cli.address import open_to_read
from omnigraph.cli.inputs import find_params, find_query, params_options, query_options
from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.targets import find_target, target_options
from omnigraph.cli.terminal import draw_plainly

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
    "--traversal", type=click.Choice(["csr", "indexed"]), help="Run one way of reading edges."
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
    """Run a read query and show what every operator did: rows, time and bytes.

    NAME picks one of several queries in the text. The rows themselves are not shown. A short-lived
    command reads everything for the first time, which is what its times tell.
    """
    query = find_query(query_file, query_string)
    values = find_params(params, params_file)
    target = find_target(branch, at)
    with open_to_read(call) as graph:
        found = graph.at(target).profile(
            query.text, values, name=name, source_name=query.name, traversal=traversal
        )
        lines = [
            *draw_plainly(str(found).splitlines(), sys.stdout),
            f"{found.seconds or 0.0:.3f} s in all",
        ]
        call.answer(found.to_json(), lines)
