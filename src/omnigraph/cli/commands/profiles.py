"""``omnigraph profiles``, the named addresses; ``omnigraph profile`` measures a query."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.invocation import Invocation, verb, verb_group
from omnigraph.cli.render import Rows, block, page_of
from omnigraph.cli.scope import PROFILE_VARIABLE, server_url
from omnigraph.errors import GraphError, InvalidInput

if TYPE_CHECKING:
    from omnigraph.cli.config import Config

__all__ = ["command"]

_HEADS = ("name", "binding", "target", "default_graph", "valid", "active", "error")


@verb_group("profiles")
def command() -> None:
    """List the named addresses of the configuration, selected with --profile."""


@verb("list", stored=False, tabular=True, examples=("omnigraph profiles list",))
@click.pass_obj
def list_(call: Invocation) -> None:
    """List the profiles and their errors."""
    found = [_describe(call.config, name) for name in call.config.profile_names]
    rows = [[each[head] for head in _HEADS] for each in found]
    call.print_rows({"profiles": found}, Rows(_HEADS, rows, {"row_count": len(rows)}))


@verb(
    "show",
    stored=False,
    examples=("omnigraph profiles show", "omnigraph profiles show staging --json"),
)
@click.argument("name", required=False)
@click.pass_obj
def show(call: Invocation, name: str | None) -> None:
    """Show one profile; the active one by default."""
    chosen = name or os.environ.get(PROFILE_VARIABLE)
    if not chosen:
        raise InvalidInput(
            "usage.no_profile",
            "no profile given and none is active",
            remedy=f"pass a name, or set {PROFILE_VARIABLE}",
        )
    call.config.profile(chosen)
    body = _describe(call.config, chosen)
    call.print_result(body, block(body.items(), page_of(sys.stdout)))


def _describe(config: Config, name: str) -> dict[str, Any]:
    body: dict[str, Any] = dict.fromkeys(_HEADS)
    body |= {"name": name, "valid": True, "active": os.environ.get(PROFILE_VARIABLE) == name}
    try:
        profile = config.profile(name)
        body |= {"binding": profile.binding, "default_graph": profile.graph}
        target = profile.target
        body["target"] = server_url(config, target) if profile.server else target
    except GraphError as error:
        body |= {"valid": False, "error": error.message}
    return body


for each in (list_, show):
    command.add_command(each)
