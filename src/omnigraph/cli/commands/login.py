"""``omnigraph login``."""

from __future__ import annotations

import sys

import click

from omnigraph.cli.credentials import keep_token
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
@click.option("--token", help="The token; other users of this machine may see it.")
@click.pass_obj
def command(call: Invocation, name: str, token: str | None) -> None:
    """Keep the token for the server NAME, in a file that only you can read.

    Without --token it is one line of stdin, which nobody else sees.
    """
    path = keep_token(name, token if token is not None else _ask(name))
    body = {"server": name, "file": str(path)}
    call.answer(body, [f"kept the token for {name} in {path}"])


def _ask(name: str) -> str:
    if sys.stdin is None:
        raise InvalidInput("usage.no_token", "no token given", remedy="give it on stdin")
    if sys.stdin.isatty():
        return str(click.prompt(f"token for {name}", hide_input=True, err=True))
    return sys.stdin.readline().strip()
