"""Which graph is meant when none is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.client.requests import Request
from omnigraph.errors import Forbidden, InvalidInput, NotFound

if TYPE_CHECKING:
    from omnigraph.client.requests import Steps

__all__ = ["find_graph", "list_graphs"]


def list_graphs() -> Steps[list[str]]:
    """The graphs of a server, by name."""
    answer = yield Request("GET", "/graphs", repeatable=True, flat=True)
    return [each["graph_id"] for each in answer.body["graphs"]]


def find_graph() -> Steps[str]:
    """The one graph of a server."""
    try:
        names = yield from list_graphs()
    except (Forbidden, NotFound):
        names = []
    if len(names) == 1:
        return names[0]
    raise InvalidInput(
        "client.which_graph",
        "the address names no graph, and there is not exactly one to choose",
        remedy=f"name it: {', '.join(names[:20])}" if names else "name it: graph=NAME",
        details={"graphs": names},
    )
