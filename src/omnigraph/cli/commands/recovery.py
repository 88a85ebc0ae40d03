"""``omnigraph recovery``."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from omnigraph.cli.address import open_to_read
from omnigraph.cli.invocation import Invocation, verb, verb_group
from omnigraph.cli.render import Rows, page_of, table
from omnigraph.runtime.clock import format_micros

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from omnigraph.api.status import AuditRow, PendingIntent

__all__ = ["command"]

_HEADS = ("operation", "outcome", "at", "branch", "kind", "actor")


@verb_group("recovery")
def command() -> None:
    """Inspect the recovery of unfinished writes."""


@verb("list", served=False, tabular=True, examples=("omnigraph recovery list people.omni",))
@click.argument("uri", required=False)
@click.pass_obj
def list_(call: Invocation, uri: str | None) -> None:
    """List recovered writes, oldest first, and unfinished ones."""
    with open_to_read(call, uri) as graph:
        done, left = graph.recoveries.list(), graph.recoveries.pending()
    body = {
        "recoveries": [row.to_json() for row in done],
        "pending": [asdict(intent) for intent in left],
    }
    rows = [*map(_row, done)]
    call.print_rows(body, Rows(_HEADS, rows, {"pending": len(left)}), lines=_lines(done, left))


def _row(row: AuditRow) -> tuple[str, ...]:
    return (
        row.operation_id,
        row.outcome.value,
        format_micros(row.recovered_at_micros),
        row.branch or "",
        row.kind or "",
        row.actor or "",
    )


def _lines(done: Sequence[AuditRow], left: Sequence[PendingIntent]) -> Iterator[str]:
    page = page_of(sys.stdout)
    if done:
        yield from table(_HEADS, [*map(_row, done)], page)
    else:
        yield "no recoveries"
    if left:
        yield ""
        unfinished = [
            (intent.id, intent.reason, intent.branch or "", intent.kind or "") for intent in left
        ]
        yield from table(("unfinished", "state", "branch", "kind"), unfinished, page)


command.add_command(list_)
