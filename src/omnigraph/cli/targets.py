"""Define the flags that select a point in history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["find_target", "target_options"]

_MAIN = "main"


def target_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Declare ``--branch B`` and ``--at TARGET``, alias ``--snapshot``."""
    command = click.option(
        "--at",
        "--snapshot",
        "at",
        metavar="TARGET",
        help="A branch, commit id, tag, BRANCH@TIME or BRANCH@vN.",
    )(command)
    return click.option("--branch", metavar="BRANCH", help="The branch; main by default.")(command)


def find_target(branch: str | None, at: str | None) -> str:
    """Return the target of the flags; the default is main."""
    if branch is not None and at is not None:
        raise InvalidInput(
            "usage.two_targets",
            "both --branch and --at are given",
            remedy="give one; --at takes a branch as well",
        )
    return branch or at or _MAIN
