"""``omnigraph doctor``."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omnigraph.cli.address import is_local, open_to_read
from omnigraph.cli.exits import FAILED
from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.machine_checks import CheckFinding, CheckState, check_directory, check_machine
from omnigraph.cli.render import Rows
from omnigraph.cli.scope import StoreScope, find_scope
from omnigraph.cli.terminal import colorize
from omnigraph.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["command"]

_COLOURS = {CheckState.OK: "green", CheckState.NOTE: "yellow", CheckState.BAD: "red"}


@verb(
    "doctor",
    tabular=True,
    examples=("omnigraph doctor", "omnigraph doctor people.omni --json"),
)
@click.argument("uri", required=False)
@click.pass_obj
def command(call: Invocation, uri: str | None) -> None:
    """Check this machine, the directory, and the graph at URI if one is addressed.

    The exit code is 1 if a required check fails; missing optional parts are notes.
    """
    found = [*check_machine(), *_addressed(call, uri)]
    bodies = [asdict(each) for each in found]
    bad = [each for each in found if each.state is CheckState.BAD]
    rows = [list(body.values()) for body in bodies]
    call.print_rows(
        {"ok": not bad, "findings": bodies},
        Rows([*bodies[0]], rows, {"ok": not bad}),
        lines=_lines(found),
    )
    if bad:
        raise click.exceptions.Exit(FAILED)


def _addressed(call: Invocation, uri: str | None) -> Iterator[CheckFinding]:
    try:
        scope = find_scope(call, uri)
    except GraphError as error:
        if error.code != "usage.no_address":
            raise
        yield from check_directory(Path.cwd())
        return
    if isinstance(scope, StoreScope) and is_local(scope.uri):
        yield from check_directory(Path(scope.uri.removeprefix("file://")))
    yield _graph(call, uri)


def _graph(call: Invocation, uri: str | None) -> CheckFinding:
    try:
        with open_to_read(call, uri) as graph:
            status = graph.status()
    except GraphError as error:
        return CheckFinding("graph", CheckState.BAD, error.message, error.remedy or "")
    if status.damaged:
        first = status.damaged[0]
        return CheckFinding("graph", CheckState.BAD, first.fault.message, first.fault.remedy or "")
    if status.pending:
        told = f"{len(status.pending)} unfinished writes"
        return CheckFinding("graph", CheckState.NOTE, told, "the next write recovers them")
    return CheckFinding("graph", CheckState.OK, f"{status.nodes} nodes, {status.edges} edges")


def _lines(found: Sequence[CheckFinding]) -> Iterator[str]:
    width = max(len(each.check) for each in found)
    for each in found:
        state = colorize(f"{each.state.value:<4}", _COLOURS[each.state], sys.stdout)
        yield f"{state}  {each.check:<{width}}  {each.told}"
        if each.remedy:
            yield f"      {'':<{width}}  {each.remedy}"
