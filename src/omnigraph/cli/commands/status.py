"""``omnigraph status``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from omnigraph.cli.address import open_to_read
from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.render import Rows, block, page_of, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.api.status import Status

__all__ = ["command"]


@verb("status", tabular=True, examples=("omnigraph status people.omni", "omnigraph status --json"))
@click.argument("uri", required=False)
@click.pass_obj
def command(call: Invocation, uri: str | None) -> None:
    """Show the identity, size and unfinished writes of the graph at URI."""
    with open_to_read(call, uri) as graph:
        status = graph.status()
        body = status.to_json()
        call.print_rows(body, Rows([*body], [[*body.values()]], {}), lines=_lines(status))


def _lines(status: Status) -> Iterator[str]:
    yield from block(
        [
            ("graph", status.uri),
            ("id", status.graph_id),
            ("format", status.internal_schema_version),
            ("durability", status.durability),
            ("head of main", status.head or "damaged"),
            ("schema", status.schema or "unknown"),
            ("branches", status.branches),
            ("tags", status.tags),
            ("nodes", _size(status.nodes, status.node_types)),
            ("edges", _size(status.edges, status.edge_types)),
            ("unfinished writes", len(status.pending)),
        ],
        page_of(sys.stdout),
    )
    for left in status.pending:
        yield f"  {left.id}: {left.reason}"
    for ref in status.damaged:
        yield f"  damaged: {ref.name}: {ref.fault}"


def _size(entities: int | None, types: int | None) -> str:
    return "unknown" if types is None else f"{entities} in {plural(types, 'type')}"
