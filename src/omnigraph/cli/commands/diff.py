"""``omnigraph diff``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from omnigraph.api.change_json import change_to_json
from omnigraph.cli.address import open_to_read
from omnigraph.cli.changes import change_lines, filter_options, json_list
from omnigraph.cli.invocation import Invocation, verb
from omnigraph.cli.render import page_of, table
from omnigraph.cli.terminal import write_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from omnigraph.api.namespaces import Diff

__all__ = ["command"]

_COUNTS = ("inserted", "updated", "deleted")


@verb(
    "diff",
    examples=(
        "omnigraph diff main review --store people.omni",
        "omnigraph diff main@2026-11-01T00:00:00Z main --summary --store people.omni",
        "omnigraph diff v1 main --type Person --op update --json --store people.omni",
    ),
)
@click.argument("before", metavar="FROM")
@click.argument("after", metavar="TO")
@filter_options
@click.option("--summary", is_flag=True, help="Only counts per type.")
@click.pass_obj
def command(
    call: Invocation,
    *,
    before: str,
    after: str,
    kinds: Sequence[str],
    types: Sequence[str],
    ops: Sequence[str],
    summary: bool,
) -> None:
    """Compare two targets; changes are ordered by kind, type and id.

    FROM and TO are branches, commit ids, tags, BRANCH@TIME or BRANCH@vN.
    """
    with open_to_read(call) as graph:
        found = graph.diff(before, after, kinds=kinds, types=types, ops=ops)
        if summary:
            call.print_result(
                {**found.head_json(), "summary": found.summary_json()}, _counts(found)
            )
        elif call.json:
            changes = (change_to_json(change) for change in found)
            write_lines(json_list(found.head_json(), "changes", changes, dict))
        else:
            write_lines(_lines(found))


def _counts(found: Diff) -> Iterator[str]:
    rows = [
        (part["kind"], part["type"]["name"], *(part[name] for name in _COUNTS))
        for part in found.summary_json()
    ]
    yield from table(("kind", "type", *_COUNTS), rows, page_of(sys.stdout))


def _lines(found: Diff) -> Iterator[str]:
    for change in found:
        yield from change_lines(change_to_json(change))
