"""``omnigraph revert``."""

from __future__ import annotations

from typing import Any

import click

from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.single_commits import pick, pick_options

__all__ = ["command"]


@verb(
    "revert",
    writes=True,
    examples=(
        "omnigraph revert 01K5T3V9QX8R2M4N6P7S9W0Y1Z --store people.omni --as ada",
        "omnigraph revert 01K5T3V9QX8R2M4N6P7S9W0Y1Z --preview --store people.omni",
    ),
)
@pick_options("--branch")
@click.pass_obj
def command(call: Invocation, /, **options: Any) -> None:
    """Undo the changes of COMMIT, as a new commit; later changes stay."""
    pick(call, "revert", **options)
