"""``omnigraph blame``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.address import open_to_read
from omnigraph.cli.changes import change_lines
from omnigraph.cli.commits import cause_line
from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.targets import find_target, target_options

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["command"]


@verb(
    "blame",
    examples=(
        "omnigraph blame Person Ada --store people.omni",
        "omnigraph blame Person Ada --branch review --limit 5 --json --store people.omni",
    ),
)
@click.argument("type_name", metavar="TYPE")
@click.argument("entity_id", metavar="ID")
@target_options
@click.option(
    "--limit", type=int, default=1_000, show_default=True, metavar="N", help="At most N commits."
)
@click.pass_obj
def command(
    call: Invocation, type_name: str, entity_id: str, branch: str | None, at: str | None, limit: int
) -> None:
    """List the commits that changed one entity, newest first."""
    with open_to_read(call) as graph:
        found = graph.blame(type_name, entity_id, target=find_target(branch, at), limit=limit)
    body = found.to_json()
    call.print_result(body, _lines(body))


def _lines(body: dict[str, Any]) -> Iterator[str]:
    if not body["history"]:
        yield f"{body['type']} {body['id']} does not occur in any commit"
    for entry in body["history"]:
        yield cause_line(entry["cause"])
        yield from change_lines(entry["change"])
        yield ""
    if "reaches_back_to" in body:
        yield f"older than {body['reaches_back_to']}: removed by cleanup"
    if body.get("more"):
        yield "more commits exist; raise --limit"
