"""``omnigraph shell``."""

from __future__ import annotations

import sys

import click

from omnigraph.cli.address import open_to_read, open_to_write
from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.shell.prompt import run_interactive, run_script
from omnigraph.cli.shell.session import ShellSession
from omnigraph.cli.targets import find_target, target_options
from omnigraph.errors import InvalidInput

__all__ = ["command"]


@verb(
    "shell",
    writes=True,
    tabular=True,
    examples=(
        "omnigraph shell people.omni --as ada",
        "omnigraph shell --store people.omni --at v1.2 --read-only",
        "omnigraph shell people.omni < statements.gq",
    ),
)
@click.argument("uri", required=False)
@target_options
@click.option("--read-only", is_flag=True, help="Refuse to write anything.")
@click.pass_obj
def command(
    call: Invocation, uri: str | None, branch: str | None, at: str | None, read_only: bool
) -> None:
    """Start an interactive shell, with history and Tab completion; :help lists its commands.

    From a pipe, statements run in order up to the first failure.
    """
    if sys.stdin is None:
        raise InvalidInput("usage.no_input", "stdin is closed")
    with open_to_read(call, uri) if read_only else open_to_write(call, uri) as graph:
        session = ShellSession(call, graph)
        session.execute(f":at {find_target(branch, at)}")
        if sys.stdin.isatty():
            call.notice(f"{graph.uri} — :help lists commands, :quit exits")
            run_interactive(session)
        else:
            run_script(session)
