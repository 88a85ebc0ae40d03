"""``omnigraph query``."""

from __future__ import annotations

import sys

import click

from omnigraph.cli.address import open_to_read
from omnigraph.cli.inputs import find_params, find_query, params_options, query_options
from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.render import Format, Rows, page_of, render_rows
from omnigraph.cli.targets import find_target, target_options
from omnigraph.cli.terminal import write_lines

__all__ = ["command"]


@verb(
    "query",
    examples=(
        "omnigraph query friends --query people.gq --store people.omni \\",
        """    --params '{"name": "Ada"}'""",
        "omnigraph query -e 'query q() { match { $p: Person } return { $p.name } }'",
        "omnigraph query friends --query people.gq --at main@2026-11-01T12:00:00Z",
        "omnigraph query friends --query people.gq --format csv > friends.csv",
    ),
)
@click.argument("name", required=False)
@query_options
@params_options
@target_options
@click.option(
    "--format",
    "layout",
    type=click.Choice([each.value for each in Format]),
    default=Format.TABLE.value,
    show_default=True,
    help="How rows are shown; --json wins.",
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
    layout: str,
) -> None:
    """Answer a read query from one snapshot.

    NAME picks one of several queries in the text.
    """
    query = find_query(query_file, query_string)
    values = find_params(params, params_file)
    target = find_target(branch, at)
    with open_to_read(call) as graph:
        result = graph.at(target).query(query.text, values, name=name, source_name=query.name)
    body = result.to_json()
    rows = body.pop("rows")
    answer = Rows(body["columns"], [list(row.values()) for row in rows], body)
    chosen = Format.JSON if call.json else Format(layout)
    write_lines(render_rows(answer, chosen, page_of(sys.stdout)))
