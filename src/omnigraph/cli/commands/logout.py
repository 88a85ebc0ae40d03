"""``omnigraph logout``."""

from __future__ import annotations

import click

from omnigraph.cli.credentials import delete_token
from omnigraph.cli.invocation import Invocation, verb

__all__ = ["command"]


@verb("logout", stored=False, examples=("omnigraph logout staging",))
@click.argument("name")
@click.pass_obj
def command(call: Invocation, name: str) -> None:
    """Delete the token of the server NAME; without a token this does nothing."""
    removed = delete_token(name)
    line = f"deleted the token of {name}" if removed else f"no token stored for {name}"
    call.print_result({"server": name, "removed": removed}, [line])
