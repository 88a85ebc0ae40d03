"""Define the click program, which imports a verb on demand."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
from typing import TYPE_CHECKING, NoReturn

import click

from omnigraph import __version__
from omnigraph.cli.exits import INTERRUPTED, OK, USAGE
from omnigraph.cli.failures import report, usage_failure
from omnigraph.cli.invocation import CONTEXT_SETTINGS, Invocation, VerbGroup
from omnigraph.cli.terminal import OutputFailed, prepare_streams, write_error
from omnigraph.cli.verbs import HELP, VERBS, version_text

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["handle_sigterm", "program", "run"]

_NAME = "omnigraph"


class _Program(VerbGroup):
    """The group of all verbs; its help is the text that ``main`` prints."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click calls it
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as click calls it
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"omnigraph.cli.commands.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def get_help(self, ctx: click.Context) -> str:  # noqa: ARG002 - as click calls it
        return HELP


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        click.echo(version_text(__version__))
        context.exit()


program = _Program(_NAME, context_settings=CONTEXT_SETTINGS)
program.params.append(
    click.Option(
        ["-v", "--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_print_version,
    )
)


def handle_sigterm() -> None:
    """Make SIGTERM end this process like Ctrl-C, which removes partial files."""
    signal.signal(signal.SIGTERM, _terminate)


def _terminate(number: int, _: object) -> NoReturn:
    # A direct write: the signal may interrupt a write to the stream.
    with contextlib.suppress(OSError):
        os.write(2, b"terminated\n")
    raise SystemExit(128 + number)


def run(arguments: Sequence[str]) -> int:
    """Run one command line, report its errors and return its exit code."""
    prepare_streams()
    if f"_{_NAME.upper()}_COMPLETE" in os.environ:
        program.main(list(arguments), prog_name=_NAME)
    as_json = "--json" in arguments
    try:
        with program.make_context(_NAME, list(arguments), obj=Invocation()) as context:
            program.invoke(context)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return USAGE
    except click.exceptions.Exit as done:
        return done.exit_code
    except (click.exceptions.Abort, KeyboardInterrupt):
        write_error("interrupted")
        return INTERRUPTED
    except (BrokenPipeError, OutputFailed):
        raise
    except click.ClickException as error:
        return report(usage_failure(error), as_json=as_json)
    except Exception as error:  # noqa: BLE001 - reported to the user
        return report(error, as_json=as_json)
    return OK
