"""Stored queries: asked for by name, on the server that keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from omnigraph.cli.address import connect_remote, refuse_actor
from omnigraph.cli.render import Rows
from omnigraph.cli.scope import ServerScope, find_scope
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from omnigraph.cli.invocation import Invocation
    from omnigraph.cli.render import Format
    from omnigraph.operations.mutate import MutationResult

__all__ = ["answer_query", "change_stored", "is_stored", "require_server", "run_stored"]


def is_stored(name: str | None, file: str | None, text: str | None) -> bool:
    """A name without a text is the name of a stored query."""
    return name is not None and file is None and text is None


def run_stored(
    call: Invocation, name: str, params: dict[str, Any], *, scope: ServerScope, target: str
) -> dict[str, Any]:
    """Ask a server for a stored read; its answer as JSON."""
    with connect_remote(call, scope) as graph:
        result = graph.invoke_query(name, params, target=target, expect_mutation=False)
    return result.to_json()


def change_stored(
    call: Invocation, name: str, params: dict[str, Any], *, branch: str, if_commit: str | None
) -> MutationResult:
    """Have a server run a stored mutation."""
    scope = require_server(call, name)
    refuse_actor(call, scope)
    with connect_remote(call, scope) as graph:
        done = graph.invoke_query(
            name, params, target=branch, if_commit=if_commit, expect_mutation=True
        )
    return cast("MutationResult", done)


def require_server(call: Invocation, name: str) -> ServerScope:
    """The server that keeps a query; storage keeps none."""
    found = find_scope(call)
    if not isinstance(found, ServerScope):
        raise InvalidInput(
            "usage.no_query",
            f"no query given, and only a server keeps a query named {name!r}",
            remedy="give --query FILE or -e GQ, or ask a server by --server URL",
        )
    return found


def answer_query(call: Invocation, body: dict[str, Any], preferred: Format | None = None) -> None:
    """Print the rows of a query, in the format that is wanted."""
    about = {key: value for key, value in body.items() if key != "rows"}
    values = [[row.get(name) for name in body["columns"]] for row in body["rows"]]
    call.answer_rows(body, Rows(body["columns"], values, about), preferred=preferred)
