"""``omnigraph mutate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from omnigraph.api.commits import Counts
from omnigraph.cli.address import open_to_read, open_to_write
from omnigraph.cli.background_maintenance import run_background_maintenance
from omnigraph.cli.inputs import find_params, find_query, params_options, query_options
from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.render import plural
from omnigraph.cli.stored import is_stored, mutate_stored
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from omnigraph.api.writes import MutationResult

__all__ = ["command"]


@verb(
    "mutate",
    writes=True,
    examples=(
        "omnigraph mutate add_person --query people.gq --store people.omni \\",
        """    --params '{"name": "Ada"}' --as ada --message 'first person'""",
        """omnigraph mutate -e 'query q() { insert Person { name: "Ada" } }'""",
        "omnigraph mutate -e '…' --branch review --if-commit 01K5T3V9QX8R2M4N6P7S9W0Y1Z",
    ),
)
@click.argument("name", required=False)
@query_options
@params_options
@click.option("--branch", default="main", show_default=True, help="The branch to change.")
@click.option(
    "--if-commit", metavar="ID", help="Require this commit as the head; else exit code 4."
)
@click.option("--message", metavar="TEXT", help="The commit message.")
@click.option(
    "--idempotency-key", metavar="KEY", help="Key that makes retries of the request idempotent."
)
@click.option("--dry-run", is_flag=True, help="Validate and count without writing.")
@click.pass_obj
def command(
    call: Invocation,
    *,
    name: str | None,
    query_file: str | None,
    query_string: str | None,
    params: str | None,
    params_file: str | None,
    branch: str,
    if_commit: str | None,
    message: str | None,
    idempotency_key: str | None,
    dry_run: bool,
) -> None:
    """Run a mutation query as one commit on a branch.

    NAME selects one of several queries in the text. Without a text it names a stored mutation of a
    server.
    """
    values = find_params(params, params_file)
    if is_stored(name, query_file, query_string):
        _refuse_flags(message=message, idempotency_key=idempotency_key, dry_run=dry_run)
        head = if_commit.upper() if if_commit else None
        done = mutate_stored(call, str(name), values, branch=branch, if_commit=head)
        call.print_result(done.to_json(), [_line(done)])
        return
    query = find_query(query_file, query_string)
    with open_to_read(call) if dry_run else open_to_write(call) as graph:
        result = graph.mutate(
            query.text,
            values,
            name=name,
            branch=branch,
            actor=call.actor,
            message=message,
            if_commit=if_commit.upper() if if_commit else None,
            idempotency_key=idempotency_key,
            dry_run=dry_run,
            source_name=query.name,
        )
        call.print_result(result.to_json(), [_line(result)])
        if result.commit is not None:
            run_background_maintenance(graph, branch)


def _refuse_flags(**flags: Any) -> None:
    """Refuse flags that do not apply to a stored query."""
    for name, value in flags.items():
        if value:
            flag = f"--{name.replace('_', '-')}"
            raise InvalidInput(
                "usage.flag_refused",
                f"{flag} does not apply to a stored query",
                remedy=f"omit {flag}, or pass --query FILE",
            )


def _line(result: MutationResult) -> str:
    what = f"{result.query_name} {'would change' if result.dry_run else 'changed'}"
    nodes, edges = plural(result.affected_nodes, "node"), plural(result.affected_edges, "edge")
    counts = f"{nodes}, {edges}" if result.counts != Counts() else "nothing"
    commit = f": {result.commit.id}" if result.commit else ""
    return f"{what} {counts} on {result.branch}{commit}"
