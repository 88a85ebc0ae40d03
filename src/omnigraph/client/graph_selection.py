"""Which graph is meant when none is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.client.requests import HttpRequest
from omnigraph.errors import Forbidden, InvalidInput, NotFound

if TYPE_CHECKING:
    from omnigraph.client.requests import Steps

__all__ = ["find_graph", "list_graphs"]


def list_graphs() -> Steps[list[str]]:
    """The graphs of a server, by name."""
    answer = yield HttpRequest("GET", "/graphs", repeatable=True, flat=True)
    return [each["graph_id"] for each in answer.body["graphs"]]


def find_graph() -> Steps[str]:
    """The one graph of a server."""
    try:
        names = yield from list_graphs()
        why = f"the server has {len(names)}" if names else "the server shows you none"
    except (Forbidden, NotFound):
        names, why = [], "the server does not tell which it has"
    if len(names) == 1:
        return names[0]
    known = f": {', '.join(names[:20])}" if names else ""
    raise InvalidInput(
        "client.which_graph",
        f"the address names no graph, and {why}",
        remedy=f"name it, by --graph ID or graph=ID{known}",
        details={"graphs": names},
    )
