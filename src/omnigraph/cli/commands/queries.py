"""``omnigraph queries``."""

from __future__ import annotations

from typing import Any

import click

from omnigraph.cli.address import connect
from omnigraph.cli.invocation import Invocation, verb, verb_group
from omnigraph.cli.render import Rows
from omnigraph.cli.stored import require_server

__all__ = ["command"]

_HEADS = ("name", "mutation", "params", "description")


@verb_group("queries")
def command() -> None:
    """List the stored queries of a server."""


@verb(
    "list",
    stored=False,
    served=True,
    tabular=True,
    examples=("omnigraph queries list --server staging --graph people",),
)
@click.pass_obj
def list_(call: Invocation) -> None:
    """List the stored queries with their parameters; `query NAME` and `mutate NAME` run them."""
    with connect(call, require_server(call, "")) as graph:
        found = graph.stored_queries()
    rows = [[_cell(each, head) for head in _HEADS] for each in found]
    call.print_rows({"queries": found}, Rows(_HEADS, rows, {"row_count": len(rows)}))


def _cell(query: dict[str, Any], head: str) -> Any:
    if head != "params":
        return query.get(head)
    return ", ".join(str(param.get("name")) for param in query.get("params", ()))


command.add_command(list_)
