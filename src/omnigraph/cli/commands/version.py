"""``omnigraph version``."""

from __future__ import annotations

import click

from omnigraph import __version__
from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.verbs import INTERNAL_SCHEMA_VERSION, version_text

__all__ = ["command"]


@verb("version", stored=False, examples=("omnigraph version --json",))
@click.pass_obj
def command(call: Invocation) -> None:
    """Print the release and its internal schema version."""
    body = {"version": __version__, "internal_schema_version": INTERNAL_SCHEMA_VERSION}
    call.print_result(body, [version_text(__version__)])
