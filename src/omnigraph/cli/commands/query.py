"""``omnigraph query``."""

from __future__ import annotations

import click

from omnigraph.cli.address import open_to_read
from omnigraph.cli.inputs import find_params, find_query, params_options, query_options
from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.stored import is_stored, print_query_result, require_server, run_stored
from omnigraph.cli.targets import find_target, target_options

__all__ = ["command"]


@verb(
    "query",
    tabular=True,
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
) -> None:
    """Run a read query on one snapshot.

    NAME selects one of several queries in the text. Without a text it names a stored query of a
    server.
    """
    values = find_params(params, params_file)
    target = find_target(branch, at)
    if is_stored(name, query_file, query_string):
        scope = require_server(call, str(name))
        print_query_result(call, run_stored(call, str(name), values, scope=scope, target=target))
        return
    query = find_query(query_file, query_string)
    with open_to_read(call) as graph:
        result = graph.at(target).query(query.text, values, name=name, source_name=query.name)
    print_query_result(call, result.to_json())
