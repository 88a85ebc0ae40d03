"""``omnigraph graphs``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from omnigraph.cli.address import connect
from omnigraph.cli.invocation import Invocation, verb, verb_group
from omnigraph.cli.render import Rows
from omnigraph.cli.scope import ServerScope, find_scope

if TYPE_CHECKING:
    from omnigraph.cli.scope import Scope

__all__ = ["command"]


@verb_group("graphs")
def command() -> None:
    """List the graphs of a server."""


@verb(
    "list",
    stored=False,
    served=True,
    tabular=True,
    examples=("omnigraph graphs list --server http://127.0.0.1:8080",),
)
@click.pass_obj
def list_(call: Invocation) -> None:
    """List the graphs of a server that you may read."""
    scope = _without_graph(find_scope(call))
    with connect(call, scope) as graph:
        names = graph.served_graphs()
    found = [{"graph_id": name, "uri": f"{scope.url}/graphs/{name}"} for name in names]
    rows = [[*each.values()] for each in found]
    call.print_rows({"graphs": found}, Rows(("graph_id", "uri"), rows, {"row_count": len(rows)}))


def _without_graph(scope: Scope) -> ServerScope:
    """Return the server without a default graph, which would filter the list."""
    assert isinstance(scope, ServerScope)  # noqa: S101 - storage has been refused
    return replace(scope, graph=None)


command.add_command(list_)
