"""``omnigraph login``."""

from __future__ import annotations

import sys

import click

from omnigraph.cli.credentials import store_token
from omnigraph.cli.invocation import Invocation, verb
from omnigraph.errors import InvalidInput

__all__ = ["command"]


@verb(
    "login",
    stored=False,
    examples=(
        "omnigraph login staging < token.txt",
        "omnigraph login staging --token $TOKEN",
    ),
)
@click.argument("name")
@click.option("--token", help="The token; visible to other users in the process list.")
@click.pass_obj
def command(call: Invocation, name: str, token: str | None) -> None:
    """Store the token of the server NAME in a file that only you can read.

    Without --token, the token is read from one line of stdin, which other users cannot see.
    """
    path = store_token(name, token if token is not None else _read_token(name))
    body = {"server": name, "file": str(path)}
    call.print_result(body, [f"stored the token of {name} in {path}"])


def _read_token(name: str) -> str:
    if sys.stdin is None:
        raise InvalidInput("usage.no_token", "no token given", remedy="pass it on stdin")
    if sys.stdin.isatty():
        return str(click.prompt(f"token for {name}", hide_input=True, err=True))
    return sys.stdin.readline().strip()
