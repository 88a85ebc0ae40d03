"""Report errors as text on stderr, and with ``--json`` also as JSON on stdout."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from typing import Any

import click

from omnigraph.cli.exits import FAILED, exit_code_of
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.terminal import colorize, write_error
from omnigraph.errors import GraphError, InvalidInput, PreconditionFailed

__all__ = ["report", "usage_failure"]


def usage_failure(error: click.ClickException) -> InvalidInput:
    """Convert a usage error of click."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.command_path if context is not None else "omnigraph"
    # Click wraps the choices of an option; an error is one line.
    message = " ".join(error.format_message().split())
    return InvalidInput("usage.bad", message, remedy=f"see `{path} --help`")


def report(error: BaseException, *, as_json: bool) -> int:
    """Print an error and return its exit code."""
    match error:
        case GraphError():
            lines, body, code = _lines_of(error), _body_of(error), exit_code_of(error)
        case OSError():
            lines, body, code = _unexpected("io.failed", f"{error}")
        case _:
            lines, body, code = _unexpected("internal", _internal_message(error))
    if os.environ.get("OMNIGRAPH_DEBUG") == "1":
        lines += traceback.format_exception(error)
    for line in lines:
        write_error(line)
    if as_json:
        # A failed write must not replace the reported error.
        with contextlib.suppress(OSError):
            print(Invocation.to_json(body), flush=True)
    return code


def _body_of(error: GraphError) -> dict[str, Any]:
    """Serialise an error; a failed ``--if-commit`` has the details of the HTTP interface."""
    body = error.to_json()
    if isinstance(error, PreconditionFailed):
        body["precondition_failure"] = dict(error.details)
    return body


def _lines_of(error: GraphError) -> list[str]:
    label = colorize("error", "red", sys.stderr)
    # Diagnostics contain their own code, position and remedy.
    found = "diagnostics" in error.details
    lines = [error.message if found else f"{label} [{error.code}] {error.message}"]
    return [*lines, f"help: {error.remedy}"] if error.remedy else lines


def _unexpected(code: str, message: str) -> tuple[list[str], dict[str, Any], int]:
    label = colorize("error", "red", sys.stderr)
    return [f"{label} [{code}] {message}"], {"error": message, "code": code}, FAILED


def _internal_message(error: BaseException) -> str:
    description = " ".join(str(error).split())
    return (
        f"internal error, please report it: {type(error).__name__}: {description} "
        "(OMNIGRAPH_DEBUG=1 prints the traceback)"
    )
