"""``omnigraph cluster``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.cluster_text import diagnostic_lines
from omnigraph.cli.exits import FAILED
from omnigraph.cli.invocation import Invocation, verb, verb_group
from omnigraph.cli.render import plural

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["command"]


@verb_group("cluster")
def command() -> None:
    """Declare graphs, schemas, queries and policies in cluster.yaml."""


def _config_option(function: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--config",
        "directory",
        default=".",
        show_default=True,
        metavar="DIR",
        help="The directory of cluster.yaml.",
    )(function)


@verb("validate", stored=False, examples=("omnigraph cluster validate --config ./cluster",))
@_config_option
@click.pass_obj
def validate(call: Invocation, directory: str) -> None:
    """Check cluster.yaml and all files that it names, without access to any storage.

    The exit code is 1 if there are errors.
    """
    from omnigraph.cluster.commands import validate_cluster  # noqa: PLC0415 - imports the compiler

    result = validate_cluster(Path(directory))
    lines = diagnostic_lines(result.diagnostics)
    if result.ok:
        lines.append(f"valid: {plural(len(result.resources), 'resource')}")
    call.print_result(result.to_json(), lines)
    if not result.ok:
        raise click.exceptions.Exit(FAILED)


command.add_command(validate)
