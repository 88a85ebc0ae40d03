"""``omnigraph export``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from omnigraph.cli.address import open_to_read
from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.render import plural
from omnigraph.cli.targets import find_target, target_options
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["command"]


@verb(
    "export",
    examples=(
        "omnigraph export people.omni > people.jsonl",
        "omnigraph export people.omni --type Person --format csv > people.csv",
        "omnigraph export people.omni --format parquet --out tables/",
        "omnigraph export people.omni --at main@2026-11-01T12:00:00Z --out old.jsonl",
    ),
)
@click.argument("uri", required=False)
@target_options
@click.option("--type", "types", metavar="TYPE", multiple=True, help="Only this type, or these.")
@click.option(
    "--format",
    "layout",
    type=click.Choice(["ndjson", "csv", "parquet", "arrow"]),
    default="ndjson",
    show_default=True,
    help="JSON lines of everything, or a table per type.",
)
@click.option("--out", metavar="PATH", help="A file, or a directory for several tables.")
@click.pass_obj
def command(
    call: Invocation,
    *,
    uri: str | None,
    branch: str | None,
    at: str | None,
    types: Sequence[str],
    layout: str,
    out: str | None,
) -> None:
    """Write the nodes and edges of a target out, as `load` reads them."""
    if out is None and call.json:
        raise InvalidInput(
            "usage.export_twice",
            "--json and the data cannot both go to stdout",
            remedy="give --out PATH",
        )
    with open_to_read(call, uri) as graph:
        target = graph.at(find_target(branch, at))
        result = target.export(out or sys.stdout.buffer, format=layout, types=types)
    if out is None:
        sys.stdout.buffer.flush()
        return
    total = f"{plural(result.total_nodes, 'node')}, {plural(result.total_edges, 'edge')}"
    body = {"out": out, **result.to_json()}
    call.answer(body, [f"exported {total} of {result.target} to {out}"])
