"""``omnigraph init``."""

from __future__ import annotations

from pathlib import Path

import click

import omnigraph
from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.managed_roots import require_unmanaged

__all__ = ["command"]


@verb(
    "init",
    stored=False,
    writes=True,
    examples=(
        "omnigraph init people.omni --schema people.pg",
        "omnigraph init s3://bucket/people.omni --schema people.pg --as ada",
        "omnigraph init scratch.omni --schema people.pg --durability process",
    ),
)
@click.argument("uri")
@click.option("--schema", "schema_file", required=True, metavar="FILE", help="The .pg file.")
@click.option("--force", is_flag=True, help="Remove a graph whose creation did not finish.")
@click.option(
    "--durability",
    type=click.Choice(["power", "process"]),
    default="power",
    show_default=True,
    help="Failure that acknowledged commits survive: power loss or process crash.",
)
@click.pass_obj
def command(call: Invocation, uri: str, schema_file: str, force: bool, durability: str) -> None:
    """Create a graph at URI from a schema.

    An existing graph is never changed, even with --force.
    """
    call.default_actor = call.config.actor
    require_unmanaged(uri, action="init")
    graph = omnigraph.init(
        uri,
        Path(schema_file),
        actor=call.actor,
        durability=durability,
        force=force,
    )
    with graph:
        body = {"uri": graph.uri, "graph_id": graph.id, "durability": durability}
        call.print_result(body, [f"initialized {graph.uri}"])
