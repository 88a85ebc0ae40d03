"""``omnigraph completion``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from omnigraph.cli.invocation import Invocation, verb
from omnigraph.errors import InvalidInput

__all__ = ["command"]

_NAME = "omnigraph"


@verb(
    "completion",
    stored=False,
    examples=(
        'omnigraph completion bash  # in ~/.bashrc: eval "$(omnigraph completion bash)"',
        "omnigraph completion fish > ~/.config/fish/completions/omnigraph.fish",
    ),
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_obj
def command(call: Invocation, shell: str) -> None:
    """Print the completion script of a shell."""
    kind = get_completion_class(shell)
    if kind is None:
        raise InvalidInput("completion.unknown_shell", f"completion for {shell} is not supported")
    root = click.get_current_context().find_root().command
    # Not source(), which would start bash to check its version.
    complete = kind(root, {}, _NAME, f"_{_NAME.upper()}_COMPLETE")
    script = complete.source_template % complete.source_vars()
    call.print_result({"shell": shell, "script": script}, [script])
