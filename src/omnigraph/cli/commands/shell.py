"""``omnigraph shell``."""

from __future__ import annotations

import sys

import click

from omnigraph.cli.address import open_to_read, open_to_write
from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.shell.prompt import converse, run_script
from omnigraph.cli.shell.session import Session
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
    """Ask and change at a prompt, with history and completion by Tab; :help explains it.

    From a pipe, statements run one after the other, and the first that fails ends it.
    """
    if sys.stdin is None:
        raise InvalidInput("usage.no_input", "stdin is closed")
    with open_to_read(call, uri) if read_only else open_to_write(call, uri) as graph:
        session = Session(call, graph)
        session.do(f":at {find_target(branch, at)}")
        if sys.stdin.isatty():
            call.remark(f"{graph.uri} — :help explains, :quit leaves")
            converse(session)
        else:
            run_script(session)
