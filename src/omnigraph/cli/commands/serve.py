"""``omnigraph serve``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.scope import STORE_VARIABLE
from omnigraph.errors import Unsupported

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["command"]


@verb(
    "serve",
    served=False,
    examples=(
        "omnigraph serve ./people.omni --unauthenticated",
        "OMNIGRAPH_SERVER_BEARER_TOKEN=… omnigraph serve ./people.omni --policy preset:team",
        "OMNIGRAPH_SERVER_BEARER_TOKEN=… omnigraph serve --cluster ./cluster",
        "omnigraph serve people=./a.omni films=s3://bucket/films.omni --queries ./queries",
    ),
)
@click.argument("locations", nargs=-1, metavar="[GRAPH]...")
@click.option(
    "--bind",
    default="127.0.0.1:8080",
    envvar="OMNIGRAPH_BIND",
    show_default=True,
    metavar="HOST:PORT",
    help="The listen address; port 0 selects a free port.",
)
@click.option(
    "--cluster",
    envvar="OMNIGRAPH_CLUSTER",
    metavar="DIR|URI",
    help="Serve the applied graphs, queries and policies of a cluster.",
)
@click.option("--policy", metavar="FILE", help="The policy: a bundle, or preset:team.")
@click.option(
    "--server-policy", metavar="FILE", help="The policy of the server: who may list its graphs."
)
@click.option("--queries", metavar="DIR", help="Stored queries: .gq files; DIR/ID for several.")
@click.option("--unauthenticated", is_flag=True, help="Serve everybody: no tokens, no policy.")
@click.option(
    "--allow-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="Answer under this name, too, though --unauthenticated. Several times.",
)
@click.option(
    "--allow-origin",
    "allowed_origins",
    multiple=True,
    metavar="ORIGIN",
    help="Let pages of this origin call the server: https://app.example. Several times.",
)
@click.option("--read-only", is_flag=True, help="Open the graphs without ever writing to them.")
@click.option(
    "--require-all-graphs",
    envvar="OMNIGRAPH_REQUIRE_ALL_GRAPHS",
    is_flag=True,
    help="Fail to start if one of the graphs does not open.",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="Level of the log on stderr, as JSON lines.",
)
@click.pass_obj
def command(
    call: Invocation,
    *,
    locations: Sequence[str],
    bind: str,
    cluster: str | None,
    policy: str | None,
    server_policy: str | None,
    queries: str | None,
    unauthenticated: bool,
    allowed_hosts: Sequence[str],
    allowed_origins: Sequence[str],
    read_only: bool,
    require_all_graphs: bool,
    log_level: str,
) -> None:
    """Serve graphs over HTTP.

    A graph is served under its file name without .omni, or as ID=GRAPH. Tokens come from
    OMNIGRAPH_SERVER_BEARER_TOKEN, …_TOKENS_JSON or …_TOKENS_FILE; without a policy they may only
    read. The server prints OMNIGRAPH_LISTEN_ADDR=HOST:PORT when it is ready.
    """
    named = [*locations, *call.stores]
    if not named and cluster is None and os.environ.get(STORE_VARIABLE):
        named = [os.environ[STORE_VARIABLE]]
    try:
        from omnigraph.server.serve import ServeRequest, run_server  # noqa: PLC0415 - optional dependency
    except ImportError as error:
        raise Unsupported(
            "serve.not_installed",
            f"serving needs {error.name}",
            remedy="pip install 'omnigraph-py[server]'",
        ) from error
    request = ServeRequest(
        named,
        bind=bind,
        cluster=cluster,
        policy=policy,
        server_policy=server_policy,
        queries=queries,
        unauthenticated=unauthenticated or os.environ.get("OMNIGRAPH_UNAUTHENTICATED") == "1",
        allowed_hosts=allowed_hosts,
        allowed_origins=allowed_origins,
        read_only=read_only,
        require_all_graphs=require_all_graphs,
        log_level=log_level,
    )
    run_server(request, os.environ, lambda line: print(line, flush=True))
