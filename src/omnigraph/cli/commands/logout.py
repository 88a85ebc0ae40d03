"""``omnigraph logout``."""

from __future__ import annotations

import click

from omnigraph.cli.credentials import drop_token
from omnigraph.cli.invocation import Invocation, verb

__all__ = ["command"]


@verb("logout", stored=False, examples=("omnigraph logout staging",))
@click.argument("name")
@click.pass_obj
def command(call: Invocation, name: str) -> None:
    """Forget the token for the server NAME. Doing so twice is fine."""
    removed = drop_token(name)
    told = f"forgot the token for {name}" if removed else f"there was no token for {name}"
    call.answer({"server": name, "removed": removed}, [told])
