"""``omnigraph query``."""

from __future__ import annotations

import click

from omnigraph.cli.address import open_to_read
from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.request_options import QueryArguments, query_arguments
from omnigraph.cli.stored import print_query_result, require_server, run_stored
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
@query_arguments(params=True)
@target_options
@click.pass_obj
def command(
    call: Invocation,
    *,
    query: QueryArguments,
    branch: str | None,
    at: str | None,
) -> None:
    """Run a read query on one snapshot.

    NAME selects one of several queries in the text. Without a text it names a stored query of a
    server.
    """
    values = query.values
    target = find_target(branch, at)
    if query.is_stored:
        name = str(query.name)
        scope = require_server(call, name)
        print_query_result(call, run_stored(call, name, values, scope=scope, target=target))
        return
    text = query.text
    with open_to_read(call) as graph:
        result = graph.at(target).query(text.text, values, name=query.name, source_name=text.name)
    print_query_result(call, result.to_json())
