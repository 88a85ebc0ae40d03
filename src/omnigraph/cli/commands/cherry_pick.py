"""``omnigraph cherry-pick``."""

from __future__ import annotations

from typing import Any

import click

from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.single_commits import pick, pick_options

__all__ = ["command"]


@verb(
    "cherry-pick",
    writes=True,
    examples=(
        "omnigraph cherry-pick 01K5T3V9QX8R2M4N6P7S9W0Y1Z --store people.omni --as ada",
        "omnigraph cherry-pick 01K5T3V9QX8R2M4N6P7S9W0Y1Z --into review --store people.omni",
    ),
)
@pick_options("--into")
@click.pass_obj
def command(call: Invocation, /, **options: Any) -> None:
    """Apply the changes of COMMIT to a branch, as a new commit."""
    pick(call, "cherry-pick", **options)
