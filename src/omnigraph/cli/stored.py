"""Run stored queries of a server by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from omnigraph.cli.address import connect, refuse_actor
from omnigraph.cli.render import Rows
from omnigraph.cli.scope import ServerScope, find_scope
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from omnigraph.api.writes import MutationResult
    from omnigraph.cli.invocation import Invocation
    from omnigraph.cli.render import Format

__all__ = ["mutate_stored", "print_query_result", "require_server", "run_stored"]


def run_stored(
    call: Invocation, name: str, params: dict[str, Any], *, scope: ServerScope, target: str
) -> dict[str, Any]:
    """Run a stored read query on a server and return its JSON result."""
    with connect(call, scope) as graph:
        result = graph.invoke_query(name, params, target=target, expect_mutation=False)
    return result.to_json()


def mutate_stored(
    call: Invocation, name: str, params: dict[str, Any], *, branch: str, if_commit: str | None
) -> MutationResult:
    """Run a stored mutation on a server."""
    scope = require_server(call, name)
    refuse_actor(call, scope)
    with connect(call, scope) as graph:
        done = graph.invoke_query(
            name, params, target=branch, if_commit=if_commit, expect_mutation=True
        )
    return cast("MutationResult", done)


def require_server(call: Invocation, name: str) -> ServerScope:
    """Return the server of a stored query; storage has none."""
    found = find_scope(call)
    if not isinstance(found, ServerScope):
        raise InvalidInput(
            "usage.no_query",
            f"no query given, and only a server can run the stored query {name!r}",
            remedy="pass --query FILE or -e GQ, or address a server with --server URL",
        )
    return found


def print_query_result(
    call: Invocation, body: dict[str, Any], preferred: Format | None = None
) -> None:
    """Print the rows of a query in the output format."""
    about = {key: value for key, value in body.items() if key != "rows"}
    values = [[row.get(name) for name in body["columns"]] for row in body["rows"]]
    call.print_rows(body, Rows(body["columns"], values, about), preferred=preferred)
