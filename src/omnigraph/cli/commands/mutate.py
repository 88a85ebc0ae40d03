"""``omnigraph mutate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from omnigraph.api.commits import Counts
from omnigraph.cli.address import open_to_read, open_to_write
from omnigraph.cli.background_maintenance import run_background_maintenance
from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.render import plural
from omnigraph.cli.request_options import (
    QueryArguments,
    WriteArguments,
    query_arguments,
    write_arguments,
)
from omnigraph.cli.stored import mutate_stored
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
@query_arguments(params=True)
@click.option("--branch", default="main", show_default=True, help="The branch to change.")
@write_arguments
@click.pass_obj
def command(
    call: Invocation,
    *,
    query: QueryArguments,
    write: WriteArguments,
) -> None:
    """Run a mutation query as one commit on a branch.

    NAME selects one of several queries in the text. Without a text it names a stored mutation of a
    server.
    """
    values = query.values
    if query.is_stored:
        _refuse_flags(
            message=write.message, idempotency_key=write.idempotency_key, dry_run=write.dry_run
        )
        done = mutate_stored(
            call, str(query.name), values, branch=write.branch, if_commit=write.if_commit
        )
        call.print_result(done.to_json(), [_line(done)])
        return
    text = query.text
    with open_to_read(call) if write.dry_run else open_to_write(call) as graph:
        result = graph.mutate(
            text.text,
            values,
            name=query.name,
            branch=write.branch,
            actor=call.actor,
            message=write.message,
            if_commit=write.if_commit,
            idempotency_key=write.idempotency_key,
            dry_run=write.dry_run,
            source_name=text.name,
        )
        call.print_result(result.to_json(), [_line(result)])
        if result.commit is not None:
            run_background_maintenance(graph, write.branch)


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
